-- What an owner reads, by name.

-- ---- read -----------------------------------------------------------------------------------------
-- All answer first a row with the snapshot they saw, the store's time and timeline, and then rows of open work, whose
-- columns begin behind those: what is the same for all is said once. The head is materialized: asking for the timeline reads
-- a file, which would otherwise be done for each row. Why rows are looked for behind "offset 0" is said in 0003_settle.sql.

-- name: read_position
-- Where somebody begins who has read nothing yet.
select pg_current_snapshot()::text, waybill.clock(), waybill.generation(),
    exists (select from waybill.command c
        where c.partition = any ($1::integer[]) and not c.answered);

-- name: read_new
-- The first page of an increment: what was not visible in the snapshot $2 and is now. By the transaction
-- that wrote it, never by what is in the key ("+ 0", "is not true"): its index would walk over all that is open.
-- Without the transactions $4, which the reader knows. The rows come in order, though no statement must keep that of a
-- part of a union: the reader looks, so that they are not sorted a second time beside the head.
with h as materialized (
    select pg_current_snapshot()::text as text, pg_current_snapshot() as snapshot,
        waybill.clock() as now, waybill.generation() as generation,
        exists (select from waybill.command c
            where c.partition = any ($1::integer[]) and not c.answered) as commands,
        pg_snapshot_xmax($2::text::pg_snapshot) as before, $4::text[]::xid8[] as known)
select h.text, h.now, h.generation, h.commands,
    null, null as sequence, null, null, null, null, null, null, null, null, null, null
from h
union all
select null, null, null, null, r.*
from h cross join lateral (
    select n.partition, n.sequence, n.id, n.due, n.message, n.requeues, n.halted, n.parked,
        n.strikes, n.solo_epoch, n.progress, n.only_targets
    from (
        select * from waybill.open where xact >= h.before
        union all
        select * from waybill.open
        where xact = any (array(select pg_snapshot_xip($2::text::pg_snapshot)))) n
    where n.xact <> all (h.known) and n.parked is not true
        and n.partition + 0 = any ($1::integer[]) and pg_visible_in_snapshot(n.xact, h.snapshot)
    order by n.sequence limit $3::integer) r;

-- name: read_new_next
-- A further page of the same increment: not visible in $2, visible in $3, after the sequence $4. Of each
-- partition $6 rows: all together they are complete up to the first place where one of them had more, and
-- the page ends there (`more`). With as many of each as a page holds, most of what is read would be thrown away.
-- Without the transactions $7.
with h as materialized (
    select pg_current_snapshot()::text as text, waybill.clock() as now,
        waybill.generation() as generation,
        exists (select from waybill.command c
            where c.partition = any ($1::integer[]) and not c.answered) as commands,
        $2::text::pg_snapshot as known, $3::text::pg_snapshot as up_to,
        $7::text[]::xid8[] as known_to_reader),
found as materialized (
    select n.* from h cross join unnest($1::integer[]) as p (id)
    cross join lateral (
        select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked,
            o.strikes, o.solo_epoch, o.progress, o.only_targets
        from waybill.open o
        where o.partition = p.id and o.parked = false and o.sequence > $4::bigint
            and o.xact <> all (h.known_to_reader)
            and not pg_visible_in_snapshot(o.xact, h.known)
            and pg_visible_in_snapshot(o.xact, h.up_to)
        order by o.sequence limit $6::integer) n),
edge as materialized (
    select min(e.last) as last from (
        select max(f.sequence) as last from found f
        group by f.partition having count(*) >= $6::integer) e)
select h.text, h.now, h.generation, h.commands,
    null, null as sequence, null, null, null, null, null, null, null, null, null, null,
    edge.last is not null as more
from h cross join edge
union all
select null, null, null, null, r.*, null
from edge cross join lateral (
    select f.* from found f where edge.last is null or f.sequence <= edge.last
    order by f.sequence limit $5::integer) r
order by sequence nulls first;

-- name: read_rows
-- A scan: what is ready (or parked) in a partition after a sequence, whoever wrote it. Up to the low-water
-- mark only the rows that it lists.
with h as materialized (
    select pg_current_snapshot()::text as text, waybill.clock() as now,
        waybill.generation() as generation)
select h.text, h.now, h.generation, false,
    null, null as sequence, null, null, null, null, null, null, null, null, null, null
from h
union all
(select null, null, null, null, n.* from (
        (select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked,
            o.strikes, o.solo_epoch, o.progress, o.only_targets
        from waybill.low_water w
        cross join lateral unnest(w.still_open) as u (sequence)
        cross join lateral (
            select * from waybill.open o where o.partition = $1::integer
                and o.parked = $2::boolean and o.sequence = u.sequence offset 0) o
        where w.partition = $1::integer and u.sequence > $3::bigint)
        union all
        (select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked,
            o.strikes, o.solo_epoch, o.progress, o.only_targets
        from waybill.open o
        where o.partition = $1::integer and o.parked = $2::boolean
            and o.sequence > greatest($3::bigint,
                (select w.through from waybill.low_water w where w.partition = $1::integer))
        order by o.sequence limit $4::integer)) n
    order by n.sequence limit $4::integer)
order by sequence nulls first;

-- name: read_due
with h as materialized (
    select pg_current_snapshot()::text as text, waybill.clock() as now,
        waybill.generation() as generation)
select h.text, h.now, h.generation, false,
    null, null as sequence, null, null as due, null, null, null, null, null, null, null, null
from h
union all
(select null, null, null, null, n.* from unnest($1::integer[]) as p (id)
    cross join lateral (
        select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked,
            o.strikes, o.solo_epoch, o.progress, o.only_targets
        from waybill.open o
        where o.partition = p.id and not o.parked and o.due <> 0
            and (o.due, o.sequence) > ($2::bigint, $3::bigint) and o.due <= $4::bigint
        order by o.due, o.sequence limit $5::integer) n
    order by n.due, n.sequence limit $5::integer)
order by due nulls first, sequence;

-- name: read_lanes
-- Of lanes by their number $3, and then by the lane itself: what is listed, and what the list has not seen yet. Without a
-- list, or with more than $7 rows beside it, or $8 that may be gone, nothing but `more`: list_lanes() comes first.
with h as materialized (
    select pg_current_snapshot()::text as text, waybill.clock() as now,
        waybill.generation() as generation, pg_snapshot_xmax(pg_current_snapshot()) as ends),
list as materialized (
    select l.edition, l.seen from waybill.lane_list l cross join h
    where l.generation = h.generation and l.through is null
        and (select s.last_value from waybill.sequence s) - l.drawn <= $8::bigint),
unlisted as materialized (
    select n.* from list cross join h cross join lateral (
        select o.partition, o.lane, o.sequence from waybill.open o
        where o.xact >= pg_snapshot_xmax(list.seen) and o.xact < h.ends
        union all
        select o.partition, o.lane, o.sequence from waybill.open o
        where o.xact = any (array(select pg_snapshot_xip(list.seen)))) n
    limit $7::integer + 1),
wanted as materialized (
    select n.* from unlisted n where n.lane = any ($3::bigint[])),
good as materialized (
    select l.edition from list l where (select count(*) from unlisted) <= $7::integer)
select h.text, h.now, h.generation, false,
    null, null as sequence, null, null, null, null, null, null, null, null, null, null,
    not exists (select from good) as more, null as place
from h
union all
(select null, null, null, null, n.*, null, w.place
    from good
    cross join unnest($1::integer[], $2::text[], $3::bigint[], $4::bigint[]) with ordinality
        as w (partition, lane, number, first, place)
    cross join lateral (
        -- A row may be in both: one that came while it was being listed, or whose stamp is of another cluster.
        select distinct on (n.sequence) n.* from (
            (select o.* from waybill.lane_row l
            cross join lateral (
                select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted,
                    o.parked, o.strikes, o.solo_epoch, o.progress, o.only_targets
                from waybill.open o where o.partition = l.partition and o.parked = false
                    and o.sequence = l.sequence offset 0) o
            join waybill.message m on m.id = o.id and m.lane = w.lane
            where l.edition = good.edition and l.lane = w.number and l.partition = w.partition
                and l.sequence >= w.first
            order by l.sequence limit $5::integer)
            union all
            (select o.* from wanted l
            cross join lateral (
                select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted,
                    o.parked, o.strikes, o.solo_epoch, o.progress, o.only_targets
                from waybill.open o where o.partition = l.partition and o.parked = false
                    and o.sequence = l.sequence offset 0) o
            join waybill.message m on m.id = o.id and m.lane = w.lane
            where l.lane = w.number and l.partition = w.partition and l.sequence >= w.first
            order by l.sequence limit $5::integer)) n
        order by n.sequence limit $5::integer) n
    order by w.place, n.sequence limit $6::integer)
order by place nulls first, sequence;

-- name: list_lanes
select waybill.list_lanes($1::bigint);

-- name: messages_at
-- In the order asked for, as many as the budget of bytes holds, one at least. A message that is gone has
-- no id. $5 and $6 are the first and the last of the ids: mostly of one day, so that the tables of all others are
-- not even opened.
select m.sequence, m.id, m.partition, m.appended_at, m.not_before, m.type, m.source, m.content_type,
    m.tenant, m.user_id, m.correlation_id, m.lane, m.dedup_key, m.collapse_key, m.attributes,
    m.occurred_at, m.body
from (
    -- (Of integers: the sum of anything longer is a numeric, and takes as long as finding the messages.)
    select w.place, m.*, sum(coalesce(octet_length(m.body), 0) + $2::integer)
            over (order by w.place rows between unbounded preceding and current row) as bytes
    from unnest($1::uuid[], $4::bigint[]) with ordinality as w (id, sequence, place)
    left join lateral (
        select * from waybill.message m where m.id = w.id and m.sequence = w.sequence
            and m.id between $5::uuid and $6::uuid offset 0) m on true) m
where m.place = 1 or m.bytes <= $3::bigint
order by m.place;

-- name: look_at_sequence
-- How far sequences were drawn, when nobody had drawn one without having a transaction number; which
-- transaction is the oldest in flight.
select s.last_value, pg_snapshot_xmin(pg_current_snapshot())::text::bigint from waybill.sequence s;

-- name: draw_transaction
-- A number that is higher than that of all who have one. (Not the end of a snapshot: that is one after the last that
-- ended, and may be the number of one that is in flight.)
select pg_current_xact_id()::text::bigint;

-- name: move_low_water
-- Up to $2, or as far as $3 rows are open. What was open before is asked one by one, the rest is a walk from
-- the old mark to the new.
insert into waybill.low_water as known (partition, through, still_open)
select r.partition,
    case when cardinality(r.rows) > $3::integer then r.rows[$3::integer] else $2::bigint end,
    r.rows[1:$3::integer]
from (
    select p.id as partition, array(
        select n.sequence from (
            (select u.sequence from waybill.low_water w
            cross join lateral unnest(w.still_open) as u (sequence)
            cross join lateral (
                select from waybill.open o where o.partition = p.id and o.parked in (false, true)
                    and o.sequence = u.sequence offset 0) o
            where w.partition = p.id)
            union all
            (select o.sequence from waybill.open o
            where o.partition = p.id and o.parked = false and o.sequence <= $2::bigint
                and o.sequence > coalesce((select w.through from waybill.low_water w
                    where w.partition = p.id), 0)
            order by o.sequence limit $3::integer + 1)
            union all
            (select o.sequence from waybill.open o
            where o.partition = p.id and o.parked = true and o.sequence <= $2::bigint
                and o.sequence > coalesce((select w.through from waybill.low_water w
                    where w.partition = p.id), 0)
            order by o.sequence limit $3::integer + 1)) n
        order by n.sequence limit $3::integer + 1) as rows
    from unnest($1::integer[]) as p (id)) r
on conflict (partition) do update set through = excluded.through, still_open = excluded.still_open
where known.through < excluded.through;

-- name: commands_waiting
select id, partition, kind, message, sequence, target from waybill.command
where partition = any ($1::integer[]) and not answered order by partition, id;

-- What people ask and order, by name.

-- ---- people ---------------------------------------------------------------------------------------

-- name: hold_message
-- Whoever touches letters or requeues holds the message: a settlement that ends its last row meanwhile
-- waits, and then sees what became of it.
select sequence, partition from waybill.message where id = $1::uuid for update;

-- name: hold_messages
-- In the order in which a settlement holds them.
select sequence from waybill.message where id = any ($1::uuid[]) order by sequence for update;

-- name: hold_sequences
select sequence from waybill.message where sequence = any ($1::bigint[])
order by sequence for update;

-- name: letters_of_message
select m.id, d.sequence, d.target, d.reason, d.failures, d.requeues, d.because, d.at
from waybill.dead d join waybill.message m on m.sequence = d.message
where d.message = $1::bigint order by d.target collate "C";

-- name: is_halted
select from waybill.open o where o.partition = $1::integer and o.parked in (false, true)
    and o.sequence = $2::bigint and o.halted;

-- name: halted_row
-- A sequence is unique in the store, so whoever knows it need not know its partition.
select o.partition, o.id, coalesce(o.message, o.sequence), o.requeues from waybill.partition p
join waybill.open o on o.partition = p.id and o.parked in (false, true)
    and o.sequence = $1::bigint
where o.halted;

-- name: delete_held
delete from waybill.finished f where f.held
    and f.id = (select m.id from waybill.message m where m.sequence = $1::bigint);

-- name: delete_dead
delete from waybill.dead where message = $1::bigint and target = $2::text;

-- name: release_finished
-- Its last dead letter went: from now on only its age counts, as of when it finished.
update waybill.finished f set held = false where f.held
    and f.id = (select m.id from waybill.message m where m.sequence = $1::bigint)
    and not exists (select from waybill.dead d where d.message = $1::bigint);

-- name: box_counts
select b.name, b.paused, coalesce(sum(o.ready), 0)::bigint, coalesce(sum(o.parked), 0)::bigint
from waybill.box b
join waybill.partition p on p.box = b.id
left join (
    select partition, count(*) filter (where not parked) as ready,
        count(*) filter (where parked) as parked
    from waybill.open group by partition) o on o.partition = p.id
group by b.name, b.paused order by b.name collate "C";

-- name: ready_rows_of_box
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets, m.type, m.source, m.tenant
from waybill.box b
join waybill.partition p on p.box = b.id
join waybill.open o on o.partition = p.id and o.parked = false
join waybill.message m on m.id = o.id
where b.name = $1::text and o.sequence > $2::bigint
order by o.sequence limit $3::integer;

-- name: insert_requeued
-- New work of the next generation, at the tail.
insert into waybill.open (partition, sequence, id, lane, due, message, requeues, only_targets)
select m.partition, nextval('waybill.sequence'), m.id, waybill.lane_number(m.lane), 0, m.sequence,
    $2::integer, $3::text[]
from waybill.message m where m.sequence = $1::bigint;

-- name: record_generation
update waybill.message m set requeues = r.requeues
from unnest($1::bigint[], $2::integer[]) as r (sequence, requeues)
where m.sequence = r.sequence and m.requeues < r.requeues;

-- name: hold_partitions
-- A replay gives a message that may be finished, or is about to be, an open row. Settlements hold their
-- partitions as well: who is not done yet is waited for, and who comes later sees the row.
select p.id from waybill.partition p
where p.id in (select m.partition from waybill.message m where m.id = any ($1::uuid[]))
order by p.id for no key update;

-- name: find_finished
-- Most messages are finished within a minute of their appending, and those are found by age.
select f.id, f.box, f.at from waybill.message m join waybill.partition p on p.id = m.partition
cross join lateral (
    select f.id, f.box, f.at from waybill.finished f
    where f.id = m.id and f.box = p.box and f.held = false
        and f.at >= m.appended_at and f.at < m.appended_at + 60000000
    order by f.at limit 1) f
where m.id = any ($1::uuid[]);

-- name: ended_of
-- Those that have no open row and are not held by a letter: they are in waybill.finished.
select m.id from waybill.message m where m.id = any ($1::uuid[])
    and not exists (select from waybill.open o where o.partition = m.partition
        and o.parked in (false, true) and o.sequence = m.sequence offset 0)
    and not exists (select from waybill.open o where o.message = m.sequence offset 0)
    and not exists (select from waybill.finished f where f.id = m.id and f.held offset 0);

-- name: find_finished_late
-- The others: reads the tables of their days once, up to a second for a million rows. Nobody waits for it.
select f.id, f.box, f.at from waybill.finished f where f.id = any ($1::uuid[]) and f.held = false;

-- name: hold_finished
-- Before their messages, as a sweep holds them.
select f.id, f.box, f.at
from unnest($1::uuid[], $2::integer[], $3::bigint[]) as w (id, box, at)
join waybill.finished f on f.id = w.id and f.box = w.box and f.held = false and f.at = w.at
for update of f;

-- name: delete_held_of
delete from waybill.finished f where f.held and f.id = any ($1::uuid[]);

-- name: delete_finished
delete from waybill.finished f
using unnest($1::uuid[], $2::integer[], $3::bigint[]) as d (id, box, at)
where f.box = d.box and f.held = false and f.at = d.at and f.id = d.id;

-- name: hold_to_replay
select m.id, m.sequence, m.requeues, m.type, m.source, m.tenant, b.name
from waybill.message m join waybill.partition p on p.id = m.partition
join waybill.box b on b.id = p.box
where m.id = any ($1::uuid[]) order by m.sequence for update of m;

-- name: letters_of_messages
select m.id, d.sequence, d.target, d.reason, d.failures, d.requeues, d.because, d.at
from waybill.dead d join waybill.message m on m.sequence = d.message
where d.message = any ($1::bigint[]) order by d.message, d.target collate "C";

-- name: open_rows_of_messages
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets
from waybill.message m cross join lateral (
    select * from waybill.open o where o.partition = m.partition and o.parked in (false, true)
        and o.sequence = m.sequence and o.message is null offset 0) o
where m.id = any ($1::uuid[])
union all
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets
from waybill.open o where o.message = any ($2::bigint[]);

-- name: insert_replayed
-- New work of the next generation, at the tail, in the order asked for.
insert into waybill.open (partition, sequence, id, lane, due, message, requeues, only_targets)
select r.partition, nextval('waybill.sequence'), r.id, waybill.lane_number(r.lane), 0, r.sequence,
    r.requeues, array[r.target]
from (
    select m.partition, m.id, m.lane, m.sequence, w.requeues, w.target
    from unnest($1::uuid[], $2::integer[], $3::text[]) with ordinality
        as w (id, requeues, target, place)
    join waybill.message m on m.id = w.id
    order by w.place) r;

-- name: insert_command
insert into waybill.command (partition, kind, message, sequence, target)
values ($1::integer, $2::smallint, $3::uuid, $4::bigint, $5::text) returning id;

-- name: command_answer
select id, partition, carried_out, text from waybill.command where id = $1::bigint and answered;

-- name: open_rows_of_message
-- Its first row, and those its requeues gave it.
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets
from waybill.open o
where o.partition = $1::integer and o.parked in (false, true) and o.sequence = $2::bigint
    and o.message is null
union all
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets
from waybill.open o where o.message = $2::bigint
order by 2;

-- name: attempts_of_message
select target, requeues, number, result, at, took, error, detail from waybill.attempt
where message = $1::bigint order by at, target collate "C", requeues, number;

-- name: message_by_id
select s.state, m.sequence, m.id, m.partition, m.appended_at, m.not_before, m.type, m.source,
    m.content_type, m.tenant, m.user_id, m.correlation_id, m.lane, m.dedup_key, m.collapse_key,
    m.attributes, m.occurred_at, m.body, m.requeues
from waybill.message m cross join lateral waybill.state_of(m.sequence, m.partition) as s (state)
where m.id = $1::uuid;

-- name: browse
-- Newest first. $4 box, $5 … $7 patterns, $8 state, $9 target, $10 part of a letter's reason.
select m.sequence, s.state, m.appended_at, m.id, m.requeues
from waybill.message m
join waybill.partition p on p.id = m.partition
join waybill.box b on b.id = p.box
cross join lateral waybill.state_of(m.sequence, m.partition) as s (state)
where m.sequence < $1::bigint and m.appended_at >= $2::bigint and m.appended_at < $3::bigint
    and ($4::text = '' or b.name = $4::text)
    and lower(m.type collate "C") like lower($5::text collate "C")
    and lower(m.source collate "C") like lower($6::text collate "C")
    and lower(m.tenant collate "C") like lower($7::text collate "C")
    and ($8::smallint = 0 or s.state = $8::smallint)
    and ($9::text = '' or waybill.concerns(m.sequence, m.partition, $9::text))
    and ($10::text = '' or exists (select from waybill.dead d
        where d.message = m.sequence and strpos(d.reason, $10::text) > 0))
order by m.sequence desc limit $11::bigint;

-- name: browse_oldest
-- The same, oldest first. $4 box, $5 … $7 patterns, $8 state, $9 target, $10 part of a letter's reason.
select m.sequence, s.state, m.appended_at, m.id, m.requeues
from waybill.message m
join waybill.partition p on p.id = m.partition
join waybill.box b on b.id = p.box
cross join lateral waybill.state_of(m.sequence, m.partition) as s (state)
where m.sequence > $1::bigint and m.appended_at >= $2::bigint and m.appended_at < $3::bigint
    and ($4::text = '' or b.name = $4::text)
    and lower(m.type collate "C") like lower($5::text collate "C")
    and lower(m.source collate "C") like lower($6::text collate "C")
    and lower(m.tenant collate "C") like lower($7::text collate "C")
    and ($8::smallint = 0 or s.state = $8::smallint)
    and ($9::text = '' or waybill.concerns(m.sequence, m.partition, $9::text))
    and ($10::text = '' or exists (select from waybill.dead d
        where d.message = m.sequence and strpos(d.reason, $10::text) > 0))
order by m.sequence limit $11::bigint;

-- name: browse_unfinished
-- The same of what is open, parked or dead. Sorted first: the state is asked only of those that are shown.
select m.sequence, s.state, m.appended_at, m.id, m.requeues
from (
    select * from waybill.messages_in($8::smallint) m where m.sequence < $1::bigint
    order by m.sequence desc offset 0) m
join waybill.partition p on p.id = m.partition
join waybill.box b on b.id = p.box
cross join lateral waybill.state_of(m.sequence, m.partition) as s (state)
where m.appended_at >= $2::bigint and m.appended_at < $3::bigint
    and ($4::text = '' or b.name = $4::text)
    and lower(m.type collate "C") like lower($5::text collate "C")
    and lower(m.source collate "C") like lower($6::text collate "C")
    and lower(m.tenant collate "C") like lower($7::text collate "C")
    and ($8::smallint = 0 or s.state = $8::smallint)
    and ($9::text = '' or waybill.concerns(m.sequence, m.partition, $9::text))
    and ($10::text = '' or exists (select from waybill.dead d
        where d.message = m.sequence and strpos(d.reason, $10::text) > 0))
order by m.sequence desc limit $11::bigint;

-- name: browse_unfinished_oldest
-- The same, oldest first.
select m.sequence, s.state, m.appended_at, m.id, m.requeues
from (
    select * from waybill.messages_in($8::smallint) m where m.sequence > $1::bigint
    order by m.sequence offset 0) m
join waybill.partition p on p.id = m.partition
join waybill.box b on b.id = p.box
cross join lateral waybill.state_of(m.sequence, m.partition) as s (state)
where m.appended_at >= $2::bigint and m.appended_at < $3::bigint
    and ($4::text = '' or b.name = $4::text)
    and lower(m.type collate "C") like lower($5::text collate "C")
    and lower(m.source collate "C") like lower($6::text collate "C")
    and lower(m.tenant collate "C") like lower($7::text collate "C")
    and ($8::smallint = 0 or s.state = $8::smallint)
    and ($9::text = '' or waybill.concerns(m.sequence, m.partition, $9::text))
    and ($10::text = '' or exists (select from waybill.dead d
        where d.message = m.sequence and strpos(d.reason, $10::text) > 0))
order by m.sequence limit $11::bigint;

-- name: count_messages
select count(*)
from waybill.messages_in($7::smallint) m
join waybill.partition p on p.id = m.partition
join waybill.box b on b.id = p.box
where m.appended_at >= $1::bigint and m.appended_at < $2::bigint
    and ($3::text = '' or b.name = $3::text)
    and lower(m.type collate "C") like lower($4::text collate "C")
    and lower(m.source collate "C") like lower($5::text collate "C")
    and lower(m.tenant collate "C") like lower($6::text collate "C")
    and ($7::smallint = 0 or waybill.state_of(m.sequence, m.partition) = $7::smallint)
    and ($8::text = '' or waybill.concerns(m.sequence, m.partition, $8::text))
    and ($9::text = '' or exists (select from waybill.dead d
        where d.message = m.sequence and strpos(d.reason, $9::text) > 0));

-- name: count_done
select count(*) from waybill.finished f
where not f.held and ($1::text = '' or f.box = (select b.id from waybill.box b where b.name = $1::text));

-- name: letters_after
-- Oldest first.
select m.id, d.sequence, d.target, d.reason, d.failures, d.requeues, d.because, d.at, d.number,
    m.sequence, m.id, m.partition, m.appended_at, m.not_before, m.type, m.source, m.content_type,
    m.tenant, m.user_id, m.correlation_id, m.lane, m.dedup_key, m.collapse_key, m.attributes,
    m.occurred_at, m.body
from waybill.dead d
join waybill.message m on m.sequence = d.message
join waybill.box b on b.id = d.box
where d.number > $1::bigint and d.at >= $2::bigint and d.at < $3::bigint
    and ($4::text = '' or b.name = $4::text)
    and lower(m.type collate "C") like lower($5::text collate "C")
    and lower(m.source collate "C") like lower($6::text collate "C")
    and lower(m.tenant collate "C") like lower($7::text collate "C")
    and ($8::text = '' or d.target = $8::text)
    and strpos(d.reason, $9::text) > 0
order by d.number limit $10::bigint;

-- name: count_letters
select count(*)
from waybill.dead d
join waybill.message m on m.sequence = d.message
join waybill.box b on b.id = d.box
where d.at >= $1::bigint and d.at < $2::bigint
    and ($3::text = '' or b.name = $3::text)
    and lower(m.type collate "C") like lower($4::text collate "C")
    and lower(m.source collate "C") like lower($5::text collate "C")
    and lower(m.tenant collate "C") like lower($6::text collate "C")
    and ($7::text = '' or d.target = $7::text)
    and strpos(d.reason, $8::text) > 0;

-- name: all_instances
-- Also the dead that a partition still names. A row says until when it is good: one lease earlier it
-- was written.
select i.incarnation, i.name, waybill.is_alive(i, waybill.clock()), i.stopping, i.guest, i.since,
    i.alive_until - i.lease, i.lease, i.boxes, i.executes, i.waiting, cardinality(i.running) / 3,
    (select count(*) from waybill.partition p where p.owner = i.incarnation), i.refused
from waybill.instance i order by i.since, i.incarnation;

-- name: lock_name
-- To the end of the transaction. Not a row: nobody's snapshot is held by it, and a pooler may be between.
select pg_advisory_xact_lock(hashtextextended($1::text, 0));

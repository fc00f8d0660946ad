-- Settling: one call, one commit. A client that freezes cannot leave a partition locked behind it,
-- because nothing of this waits for the client.
--
-- `held` are the places (from 1) of the fences that hold; what belongs to another partition is not applied.
-- The rows of partitions that hold have one owner, but not one writer: an inline transaction records its
-- own, and a settlement that its client has given up may still arrive. So nothing is written over progress
-- that was not seen, and no letter is written or withdrawn for a row that is gone. Dead letters are also touched by people: whoever does holds a lock on the message's row.
--
-- waybill.open fills and empties, so that what the server believes of its size is never true: analysed while it was
-- empty, it would be walked through once for each row of the batch. So each row of the batch looks for its own, in a
-- subquery that "offset 0" keeps as it is (also an "exists", which would be joined or hashed), and is then changed where it
-- was found.
create function waybill.settle(
    registry bigint,
    fence_partition integer[], fence_owner uuid[], fence_epoch bigint[], fence_generation text[],
    -- Rows that go.
    finish_partition integer[], finish_sequence bigint[], finish_id uuid[], finish_drop boolean[],
    -- Rows that stay.
    change_partition integer[], change_sequence bigint[], change_id uuid[], change_due bigint[],
    change_halted boolean[], change_parked boolean[], change_strikes integer[],
    change_solo_epoch bigint[], change_requeues integer[], change_progress text[],
    -- What was read before: progress is built upon it.
    change_seen text[],
    -- Letters that are withdrawn, by their row and the sequence of their message; and new ones.
    revive_partition integer[], revive_sequence bigint[], revive_id uuid[],
    revive_message bigint[], revive_target text[],
    dead_partition integer[], dead_message bigint[], dead_id uuid[], dead_sequence bigint[],
    dead_target text[], dead_reason text[], dead_failures bigint[], dead_requeues integer[],
    dead_because text[], dead_at bigint[],
    -- Lines of the log, by the row they are about.
    attempt_partition integer[], attempt_sequence bigint[], attempt_id uuid[], attempt_target text[],
    attempt_requeues integer[], attempt_number bigint[], attempt_result smallint[],
    attempt_at bigint[], attempt_took bigint[], attempt_error text[], attempt_detail text[],
    -- Answers to commands.
    command_id bigint[], command_partition integer[], command_carried_out boolean[],
    command_text text[])
returns table (stale boolean, held bigint[])
language plpgsql volatile set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_column
declare
    now_us constant bigint := waybill.clock();
    timeline constant text := waybill.generation();
    ours integer[];
    -- Of each of them.
    boxes integer[];
    holding bigint[];
    touched bigint[] := '{}';
    changed bigint;
    finished_rows bigint := 0;
    parked_rows bigint := 0;
    gone_id uuid[];
    gone_message bigint[];
    gone_partition integer[];
    gone_drop boolean[];
    gone_place bigint[];
begin
    if registry < (select s.registry_version from waybill.store s) then
        return query select true, '{}'::bigint[];
        return;
    end if;

    -- The fence. A takeover in flight is waited for, and then judged as it ended; one that comes later
    -- waits for our commit.
    select coalesce(array_agg(f.id), '{}'), coalesce(array_agg(f.box), '{}'),
        coalesce(array_agg(f.place), '{}')
    into ours, boxes, holding
    from (
        select p.id, p.box, f.place from waybill.partition p
        join unnest(fence_partition, fence_owner, fence_epoch, fence_generation)
            with ordinality as f (id, owner, epoch, generation, place) on f.id = p.id
        where p.owner = f.owner and p.epoch = f.epoch and f.generation = timeline
        order by p.id for share of p) f;

    -- A row that is gone was settled before, all of it.
    if cardinality(attempt_partition) > 0 then
        insert into waybill.attempt
            (message, target, requeues, number, box, result, at, took, error, detail)
        select o.message, a.target, a.requeues, a.number,
            boxes[array_position(ours, a.partition)], a.result,
            a.at, a.took, a.error, a.detail
        from unnest(attempt_partition, attempt_sequence, attempt_id, attempt_target,
                attempt_requeues, attempt_number, attempt_result, attempt_at, attempt_took,
                attempt_error, attempt_detail)
            as a (partition, sequence, id, target, requeues, number, result, at, took, error,
                detail)
        cross join lateral (
            select coalesce(o.message, o.sequence) as message from waybill.open o
            where o.partition = a.partition and o.parked in (false, true)
                and o.sequence = a.sequence and o.id = a.id offset 0) o
        where a.partition = any (ours)
        on conflict do nothing;
    end if;

    -- Messages of which somebody else may be changing something: only those with letters, or with rows
    -- that people's requeues gave them. While there are none at all, no message is asked.
    if cardinality(dead_partition) > 0 or cardinality(revive_partition) > 0
        or exists (select from waybill.dead)
        or exists (select from waybill.open where message is not null)
    then
        touched := array(
            select d.message from unnest(dead_partition, dead_message) as d (partition, message)
            where d.partition = any (ours)
            union
            select r.message from unnest(revive_partition, revive_message) as r (partition, message)
            where r.partition = any (ours)
            union
            select coalesce(o.message, o.sequence)
            from unnest(finish_partition, finish_sequence) as f (partition, sequence)
            cross join lateral (
                select o.message, o.sequence from waybill.open o
                where o.partition = f.partition and o.parked in (false, true)
                    and o.sequence = f.sequence offset 0) o
            where f.partition = any (ours) and (o.message is not null
                or exists (select from waybill.dead d where d.message = o.sequence offset 0)
                or exists (select from waybill.open r where r.message = o.sequence offset 0)));
        perform from waybill.message m where m.sequence = any (touched) order by m.sequence
        for update;
    end if;

    if cardinality(revive_partition) > 0 then
        delete from waybill.dead d
        using (
            select r.message, r.target
            from unnest(revive_partition, revive_sequence, revive_id, revive_message, revive_target)
                as r (partition, sequence, id, message, target)
            cross join lateral (
                select from waybill.open o
                where o.partition = r.partition and o.parked in (false, true)
                    and o.sequence = r.sequence and o.id = r.id offset 0) o
            where r.partition = any (ours)) r
        where d.message = r.message and d.target = r.target;
    end if;
    if cardinality(dead_partition) > 0 then
        -- What is left of a message whose row is gone: enough to show its letter, which has no target.
        insert into waybill.message (sequence, id, partition, appended_at, occurred_at, not_before,
            type, source, content_type, tenant, user_id, correlation_id, lane, dedup_key,
            collapse_key, body)
        select d.message, d.id, d.partition, now_us, 0, 0, '', '', '', '', '', '', '', '', '', ''
        from unnest(dead_partition, dead_message, dead_id, dead_sequence, dead_target)
            as d (partition, message, id, sequence, target)
        cross join lateral (
            select from waybill.open o
            where o.partition = d.partition and o.parked in (false, true)
                and o.sequence = d.sequence and o.id = d.id offset 0) o
        where d.target = '' and d.partition = any (ours)
        on conflict do nothing;
        insert into waybill.dead as known
            (message, box, sequence, target, reason, failures, requeues, because, at)
        select d.message, boxes[array_position(ours, d.partition)],
            d.sequence, d.target, d.reason, d.failures, d.requeues, d.because, d.at
        from unnest(dead_partition, dead_message, dead_id, dead_sequence, dead_target, dead_reason,
                dead_failures, dead_requeues, dead_because, dead_at) with ordinality
            as d (partition, message, id, sequence, target, reason, failures, requeues, because,
                at, place)
        cross join lateral (
            select from waybill.open o
            where o.partition = d.partition and o.parked in (false, true)
                and o.sequence = d.sequence and o.id = d.id offset 0) o
        where d.partition = any (ours) order by d.place
        on conflict (message, target) do update set
            sequence = excluded.sequence, reason = excluded.reason, failures = excluded.failures,
            requeues = excluded.requeues, because = excluded.because, at = excluded.at;
    end if;

    if cardinality(change_partition) > 0 then
        update waybill.open o set
            parked = c.parked, halted = c.halted, due = c.due, requeues = c.requeues,
            strikes = c.strikes, solo_epoch = c.solo_epoch, progress = c.progress::text[]
        from (
            select c.*, r.tid
            from unnest(change_partition, change_sequence, change_id, change_due, change_halted,
                    change_parked, change_strikes, change_solo_epoch, change_requeues,
                    change_progress, change_seen)
                as c (partition, sequence, id, due, halted, parked, strikes, solo_epoch, requeues,
                    progress, seen)
            cross join lateral (
                select r.ctid as tid from waybill.open r
                where r.partition = c.partition and r.parked in (false, true)
                    and r.sequence = c.sequence and r.id = c.id offset 0) r
            where c.partition = any (ours)) c
        where o.ctid = c.tid and o.progress is not distinct from c.seen::text[];
        get diagnostics changed = row_count;
        if changed < (select count(*)
            from unnest(change_partition, change_sequence, change_id) as c (partition, sequence, id)
            cross join lateral (
                select from waybill.open o
                where o.partition = c.partition and o.parked in (false, true)
                    and o.sequence = c.sequence and o.id = c.id offset 0) o
            where c.partition = any (ours))
        then
            raise exception 'a row was changed while it was being settled'
                using errcode = 'serialization_failure';
        end if;
    end if;

    if cardinality(finish_partition) = 0 then
        null;
    elsif touched = '{}' and true <> all (finish_drop) then
        -- Nearly always: rows that are the only one of their message, ready, and kept.
        with gone as (
            delete from waybill.open o where o.ctid = any (array(
                select r.tid
                from unnest(finish_partition, finish_sequence, finish_id)
                    as f (partition, sequence, id)
                cross join lateral (
                    select r.ctid as tid from waybill.open r
                    where r.partition = f.partition and r.parked = false
                        and r.sequence = f.sequence and r.id = f.id offset 0) r
                where f.partition = any (ours)))
            returning o.id, o.partition
        )
        insert into waybill.finished (id, at, box, held)
        select g.id, now_us, boxes[array_position(ours, g.partition)], false
        from gone g;
        get diagnostics finished_rows = row_count;
        if finished_rows < cardinality(finish_partition) then
            with gone as (
                delete from waybill.open o where o.ctid = any (array(
                    select r.tid
                    from unnest(finish_partition, finish_sequence, finish_id)
                        as f (partition, sequence, id)
                    cross join lateral (
                        select r.ctid as tid from waybill.open r
                        where r.partition = f.partition and r.parked in (false, true)
                            and r.sequence = f.sequence and r.id = f.id offset 0) r
                    where f.partition = any (ours)))
                returning o.id, o.partition
            )
            insert into waybill.finished (id, at, box, held)
            select g.id, now_us, boxes[array_position(ours, g.partition)],
                false
            from gone g;
            get diagnostics parked_rows = row_count;
        end if;
    else
        with gone as (
            delete from waybill.open o
            using (
                select f.*, r.tid
                from unnest(finish_partition, finish_sequence, finish_id, finish_drop)
                    with ordinality as f (partition, sequence, id, dropped, place)
                cross join lateral (
                    select r.ctid as tid from waybill.open r
                    where r.partition = f.partition and r.parked in (false, true)
                        and r.sequence = f.sequence and r.id = f.id offset 0) r
                where f.partition = any (ours)) f
            where o.ctid = f.tid
            returning o.id, coalesce(o.message, o.sequence) as message, o.partition, f.dropped,
                f.place
        )
        select array_agg(g.id), array_agg(g.message), array_agg(g.partition), array_agg(g.dropped),
            array_agg(g.place)
        into gone_id, gone_message, gone_partition, gone_drop, gone_place from gone g;

        -- The last open row of a message is gone: it is kept, held by its letters, or dropped.
        with closed as materialized (
            select distinct on (g.message) g.id, g.message, g.partition,
                g.message = any (touched)
                    and exists (select from waybill.dead d where d.message = g.message offset 0)
                    as is_dead,
                g.dropped
            from unnest(gone_id, gone_message, gone_partition, gone_drop, gone_place)
                as g (id, message, partition, dropped, place)
            where g.message <> all (touched) or (
                not exists (select from waybill.open o where o.message = g.message offset 0)
                and not exists (select from waybill.open o where o.partition = g.partition
                    and o.parked in (false, true) and o.sequence = g.message offset 0))
            order by g.message, g.place desc
        ), dropped as (
            delete from waybill.message m using closed c
            where m.id = c.id and c.dropped and not c.is_dead
        ), forgotten as (
            delete from waybill.attempt a using closed c
            where a.message = c.message and c.dropped and not c.is_dead
        )
        insert into waybill.finished (id, at, box, held)
        select c.id, now_us, boxes[array_position(ours, c.partition)],
            c.is_dead
        from closed c where c.is_dead or not c.dropped;
    end if;

    -- Somebody else changed a row between the look for it and its end: it is another version of it now, which nobody
    -- has looked for.
    if finished_rows + parked_rows < cardinality(finish_partition) and exists (
        select from unnest(finish_partition, finish_sequence, finish_id)
            as f (partition, sequence, id)
        cross join lateral (
            select from waybill.open r
            where r.partition = f.partition and r.parked in (false, true)
                and r.sequence = f.sequence and r.id = f.id offset 0) r
        where f.partition = any (ours))
    then
        raise exception 'a row was changed while it was being settled'
            using errcode = 'serialization_failure';
    end if;

    if cardinality(command_id) > 0 then
        update waybill.command w set
            answered = true, carried_out = c.carried_out, text = c.text
        from unnest(command_id, command_partition, command_carried_out, command_text)
            as c (id, partition, carried_out, text)
        where w.id = c.id and w.partition = c.partition and not w.answered
            and c.partition = any (ours);
        -- Answers are kept for whoever asked; older ones are forgotten.
        delete from waybill.command w
        where w.answered and w.id <= (select max(i) - 10000 from unnest(command_id) as i);
    end if;
    return query select false, holding;
end
$function$;

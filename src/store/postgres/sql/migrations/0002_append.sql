-- Appending, for the store's own connections and for whoever publishes by SQL alike.

-- A lane as a number: 64 bits of its SHA-256. No two lanes are ever confused because of it.
-- (Neither strict nor immutable, for convert_to is not: then it would be called for each row, three
-- microseconds each, instead of being a part of the statement.)
create function waybill.lane_number(lane text) returns bigint
language sql stable parallel safe as $$
    select case when lane <> '' then
        ('x' || encode(substr(sha256(convert_to(lane, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint end
$$;

-- The first 10 bits of SHA-256: the same as waybill::slot_of.
create function waybill.slot(key bytea) returns integer
language sql immutable strict parallel safe as $$
    select get_byte(hash, 0) * 4 + get_byte(hash, 1) / 64 from (select sha256(key) as hash) s
$$;

-- Nothing of the message is open, and a delivery of it is dead.
create function waybill.ended_dead(message uuid) returns boolean
language sql stable as $$
    select exists (
        select from waybill.message m
        where m.id = message
            and exists (select from waybill.dead d where d.message = m.sequence offset 0)
            and not exists (select from waybill.open o where o.message = m.sequence offset 0)
            and not exists (select from waybill.open o where o.partition = m.partition
                and o.parked in (false, true) and o.sequence = m.sequence offset 0))
$$;

-- Ends a statement that saw the world from before somebody else's commit; the same one again will see it.
create function waybill.try_again() returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'somebody else has just appended a message with the same id'
        using errcode = 'serialization_failure';
end
$$;

-- Appends messages that share neither an id nor a dedup key, in the order they are given, and answers each
-- in that order: its sequence when it is fresh; otherwise the first one's id, whether the body is the
-- same, and whether that one is dead.
--
-- The answer to a duplicate is a write too, and as durable as the first: it counts up in the row of the
-- key, and so waits for a transaction in flight that has the same key, and knows its id when it
-- commits. Keys are written in their order, so that two batches never wait for each other.
--
-- Written for what is nearly always the case, that everything is new: nothing is looked up, and columns
-- stay arrays in the order of the items, because a join of two of them would take their sizes multiplied.
-- A column of texts that is empty for all of them may be an empty array: each one that is not takes its time.
-- `lane_numbers` are lane_number() of the lanes: whoever has a batch of them hashes faster than a statement does.
create function waybill.append(
    ids uuid[], partitions integer[], occurred_at bigint[], not_before bigint[], types text[],
    sources text[], content_types text[], tenants text[], user_ids text[], correlation_ids text[],
    lanes text[], lane_numbers bigint[], dedup_keys text[], collapse_keys text[],
    attributes text[], bodies bytea[], scopes text[], windows bigint[], body_hashes bytea[],
    -- This call is all of its transaction.
    alone boolean)
returns table (place bigint, sequence bigint, first uuid, same boolean, is_dead boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_column
declare
    now_us constant bigint := waybill.clock();
    key_places bigint[];
    key_ids uuid[];
    key_hashes bytea[];
    key_counts bigint[];
    known_ids uuid[];
    known_before integer;
    new_ids uuid[];
    new_sequences bigint[];
begin
    -- A transaction has its number before it draws a sequence: waybill.low_water rests on that.
    perform pg_current_xact_id();

    if '' <> any (dedup_keys) then
        with item as materialized (
            select i.* from unnest(ids, scopes, dedup_keys, windows, body_hashes) with ordinality
                as i (id, scope, key, dedup_window, body_hash, place)
            where i.key <> '' order by i.scope, i.key
        ), marked as (
            -- No duplicates: the key is new, or its window had ended.
            insert into waybill.dedup as d (scope, key, id, body_hash, until)
            select i.scope, i.key, i.id, i.body_hash, now_us + i.dedup_window from item i
            on conflict (scope, key) do update set
                id = case when d.until <= now_us then excluded.id else d.id end,
                body_hash = case when d.until <= now_us then excluded.body_hash else d.body_hash end,
                until = case when d.until <= now_us then excluded.until else d.until end,
                duplicates = case when d.until <= now_us then 0 else d.duplicates + 1 end
            returning d.id, d.body_hash, d.duplicates
        )
        select (select array_agg(i.place) from item i), array_agg(m.id), array_agg(m.body_hash),
            array_agg(m.duplicates)
        into key_places, key_ids, key_hashes, key_counts from marked m;
        -- From the order of keys to that of items.
        select array_agg(k.id order by k.place), array_agg(k.body_hash order by k.place),
            array_agg(k.duplicates order by k.place)
        into key_ids, key_hashes, key_counts
        from (
            select * from unnest(key_places, key_ids, key_hashes, key_counts)
                as k (place, id, body_hash, duplicates)
            union all
            select i.place, null, null, 0 from unnest(dedup_keys) with ordinality as i (key, place)
            where i.key = '') k;
    end if;

    if alone then
        -- It expects that all of them are new: "on conflict do nothing" looks for each id, and writes each row first as an
        -- attempt and then as a fact, which takes a sixth longer. Only when one is known it asks which.
        loop
            begin
                with fresh as (
                    insert into waybill.message (sequence, id, partition, appended_at, occurred_at, not_before,
                        type, source, content_type, tenant, user_id, correlation_id, lane, dedup_key,
                        collapse_key, attributes, body)
                    select nextval('waybill.sequence'), i.id, i.partition, now_us, i.occurred_at, i.not_before,
                        i.type, coalesce(i.source, ''), coalesce(i.content_type, ''), coalesce(i.tenant, ''),
                        coalesce(i.user_id, ''), coalesce(i.correlation_id, ''), coalesce(i.lane, ''),
                        coalesce(i.dedup_key, ''), coalesce(i.collapse_key, ''),
                        nullif(i.attributes, '')::text[], i.body
                    from unnest(ids, partitions, occurred_at, not_before, types, sources, content_types,
                            tenants, user_ids, correlation_ids, lanes, dedup_keys, collapse_keys, attributes,
                            bodies, key_counts)
                        as i (id, partition, occurred_at, not_before, type, source, content_type, tenant,
                            user_id, correlation_id, lane, dedup_key, collapse_key, attributes, body,
                            duplicates)
                    where (i.duplicates is null or i.duplicates = 0)
                        and (known_ids is null or i.id <> all (known_ids))
                    returning sequence, id
                )
                select array_agg(f.sequence), array_agg(f.id) into new_sequences, new_ids from fresh f;
                exit;
            exception when unique_violation then
                known_before := coalesce(cardinality(known_ids), 0);
                known_ids := array(select m.id from waybill.message m where m.id = any (ids));
                if cardinality(known_ids) = known_before then
                    perform waybill.try_again();
                end if;
            end;
        end loop;
    else
        -- The same for somebody's own transaction, which may call this more often than a transaction should have
        -- subtransactions: beyond 64 of them everybody's snapshots become slow.
        with fresh as (
            insert into waybill.message (sequence, id, partition, appended_at, occurred_at, not_before,
                type, source, content_type, tenant, user_id, correlation_id, lane, dedup_key,
                collapse_key, attributes, body)
            select nextval('waybill.sequence'), i.id, i.partition, now_us, i.occurred_at, i.not_before,
                i.type, coalesce(i.source, ''), coalesce(i.content_type, ''), coalesce(i.tenant, ''),
                coalesce(i.user_id, ''), coalesce(i.correlation_id, ''), coalesce(i.lane, ''),
                coalesce(i.dedup_key, ''), coalesce(i.collapse_key, ''),
                nullif(i.attributes, '')::text[], i.body
            from unnest(ids, partitions, occurred_at, not_before, types, sources, content_types,
                    tenants, user_ids, correlation_ids, lanes, dedup_keys, collapse_keys, attributes,
                    bodies, key_counts)
                as i (id, partition, occurred_at, not_before, type, source, content_type, tenant,
                    user_id, correlation_id, lane, dedup_key, collapse_key, attributes, body,
                    duplicates)
            where i.duplicates is null or i.duplicates = 0
            on conflict (id) do nothing
            returning sequence, id
        )
        select array_agg(f.sequence), array_agg(f.id) into new_sequences, new_ids from fresh f;
    end if;

    if cardinality(new_ids) = cardinality(ids) then
        insert into waybill.open (partition, sequence, id, lane, due)
        select i.partition, i.sequence, i.id, i.lane, i.not_before
        from unnest(partitions, new_sequences, ids, lane_numbers, not_before)
            as i (partition, sequence, id, lane, not_before);
        return query select i.place, i.sequence, i.id, true, false
        from unnest(new_sequences, ids) with ordinality as i (sequence, id, place);
        return;
    end if;

    insert into waybill.open (partition, sequence, id, lane, due)
    select i.partition, n.sequence, i.id, i.lane, i.not_before
    from unnest(ids, partitions, lane_numbers, not_before) as i (id, partition, lane, not_before)
    join unnest(new_ids, new_sequences) as n (id, sequence) on n.id = i.id;
    -- The message was there, under another key or none: this one would stand for nothing.
    if key_counts is not null then
        delete from waybill.dedup d
        using unnest(ids, scopes, dedup_keys, key_counts) as i (id, scope, key, duplicates)
        where d.scope = i.scope and d.key = i.key and i.key <> '' and i.duplicates = 0
            and i.id <> all (coalesce(new_ids, '{}'));
    end if;
    return query
    select a.place,
        -- Neither appended nor there: it is not visible yet, or was swept just now.
        case when a.sequence is null and a.known is null and not a.has_key
            then waybill.try_again() else a.sequence end,
        a.first, a.same,
        case when a.sequence is null then waybill.ended_dead(a.first) else false end
    from (
        select i.place, n.sequence, k.sequence as known, coalesce(i.duplicates > 0, false) as has_key,
            case when i.duplicates > 0 then i.key_id else i.id end as first,
            case when i.duplicates > 0 then i.key_hash = i.body_hash else k.body = i.body end
                as same
        from unnest(ids, bodies, body_hashes, key_ids, key_hashes, key_counts) with ordinality
            as i (id, body, body_hash, key_id, key_hash, duplicates, place)
        left join unnest(new_ids, new_sequences) as n (id, sequence) on n.id = i.id
        left join waybill.message k on k.id = i.id and n.sequence is null) a
    order by a.place;
end
$function$;

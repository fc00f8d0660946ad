-- Appending, for the store's own connections and for whoever publishes by SQL alike.

-- A lane as a number: 64 bits of its SHA-256. No two lanes are ever confused because of it.
create function waybill.lane_number(lane text) returns bigint
language sql immutable strict parallel safe as $$
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
            and exists (select from waybill.dead d where d.message = m.sequence)
            and not exists (select from waybill.open o where o.message = m.sequence)
            and not exists (select from waybill.open o where o.partition = m.partition
                and o.parked in (false, true) and o.sequence = m.sequence))
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
create function waybill.append(
    ids uuid[], partitions integer[], occurred_at bigint[], not_before bigint[], types text[],
    sources text[], content_types text[], tenants text[], user_ids text[], correlation_ids text[],
    lanes text[], dedup_keys text[], collapse_keys text[], attributes text[], bodies bytea[],
    scopes text[], windows bigint[], body_hashes bytea[])
returns table (place bigint, sequence bigint, first uuid, same boolean, is_dead boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_column
declare
    now_us constant bigint := waybill.clock();
begin
    return query
    with item as materialized (
        select i.*, k.sequence as known, k.body = i.body as same_body
        from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
            with ordinality as i (id, partition, occurred_at, not_before, type, source,
                content_type, tenant, user_id, correlation_id, lane, dedup_key, collapse_key,
                attributes, body, scope, dedup_window, body_hash, place)
        left join waybill.message k on k.id = i.id
    ), marked as (
        -- No duplicates: the key is new, or its window had ended. A message that is there already takes its
        -- turn among the keys if its own is remembered (should it be swept this moment, what is left
        -- behind has ended too); a new one would stand for nothing.
        insert into waybill.dedup as d (scope, key, id, body_hash, until)
        select i.scope, i.dedup_key, i.id, i.body_hash,
            case when i.known is null then now_us + i.dedup_window else now_us end
        from item i
        where i.dedup_key <> '' and (i.known is null or exists (
            select from waybill.dedup k where k.scope = i.scope and k.key = i.dedup_key
                and (k.until is null or k.until > now_us)))
        order by i.scope, i.dedup_key
        on conflict (scope, key) do update set
            id = case when d.until <= now_us then excluded.id else d.id end,
            body_hash = case when d.until <= now_us then excluded.body_hash else d.body_hash end,
            until = case when d.until <= now_us then excluded.until else d.until end,
            duplicates = case when d.until <= now_us then 0 else d.duplicates + 1 end
        returning d.scope, d.key, d.id, d.body_hash, d.duplicates
    ), inserted as (
        insert into waybill.message (sequence, id, partition, appended_at, occurred_at, not_before,
            type, source, content_type, tenant, user_id, correlation_id, lane, dedup_key,
            collapse_key, attributes, body)
        select nextval('waybill.sequence'), f.id, f.partition, now_us, f.occurred_at, f.not_before,
            f.type, f.source, f.content_type, f.tenant, f.user_id, f.correlation_id, f.lane,
            f.dedup_key, f.collapse_key, f.attributes::text[], f.body
        from (
            select i.* from item i left join marked m on m.scope = i.scope and m.key = i.dedup_key
            where i.known is null and (i.dedup_key = '' or m.duplicates = 0)
            order by i.place) f
        on conflict (id) do nothing
        returning sequence, id
    ), opened as (
        insert into waybill.open (partition, sequence, id, lane, due)
        select i.partition, n.sequence, n.id, waybill.lane_number(i.lane), i.not_before
        from inserted n join item i on i.id = n.id
    ), answer as (
        select i.place, n.sequence, m.duplicates, i.known,
            case when m.duplicates > 0 then m.id else i.id end as first,
            case when m.duplicates > 0 then m.body_hash = i.body_hash
                else i.known is null or i.same_body end as same
        from item i
        left join inserted n on n.id = i.id
        left join marked m on m.scope = i.scope and m.key = i.dedup_key
    )
    select a.place,
        case when a.sequence is null and a.known is null and coalesce(a.duplicates, 0) = 0
            then waybill.try_again() else a.sequence end,
        a.first, a.same,
        case when a.sequence is null then waybill.ended_dead(a.first) else false end
    from answer a order by a.place;
end
$function$;

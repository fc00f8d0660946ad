-- Publishing in the caller's transaction: messages that are there if and only if it commits. Both functions
-- run with the rights of whoever migrated: a role that may execute them needs no right on any table. The
-- names and the order of their arguments are never changed; others may follow.

-- UUIDv7: neighbours in time are neighbours in an index.
create function waybill.new_id() returns uuid
language sql volatile as $$
    select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- An acknowledged COMMIT of this session may be gone after a crash, or after the failover the cluster was
-- set up for.
create function waybill.may_lose_its_commit() returns boolean
language sql stable as $$
    select case current_setting('synchronous_commit') when 'off' then true
        when 'local' then current_setting('synchronous_standby_names') <> '' else false end
$$;

-- A lane as the key of an advisory lock; the schema is part of it.
create function waybill.lane_lock(box text, lane text) returns bigint
language sql immutable strict parallel safe as $$
    select ('x' || encode(substr(sha256(convert_to('lane waybill.' || box || ' ' || lane, 'UTF8')),
        1, 8), 'hex'))::bit(64)::bigint
$$;

-- Many messages, column by column: all or none, in their order. Answers one row for each, in that order.
--
-- Times are microseconds since 1970, 0 for none; an element of `attributes` is the text of a text[]
-- (name, value; and again) or null. An empty box is the only one. An id the caller brings is also its key.
-- `ordered`: whoever publishes so into one lane waits for those who did before, until their transactions
-- end; so the order of its sequences is the order of commit. `notify` wakes the instances at the commit,
-- which costs a lock on the whole database. `relaxed`: a commit that may get lost is good enough.
create function waybill.publish_many(
    types text[], bodies bytea[], boxes text[], tenants text[], user_ids text[], lanes text[],
    dedup_keys text[], collapse_keys text[], correlation_ids text[], content_types text[],
    sources text[], attributes text[], ids uuid[], occurred_at bigint[], not_before bigint[],
    ordered boolean default false, notify boolean default false, relaxed boolean default false)
returns table (status text, id uuid, sequence bigint, partition integer, first_is_dead boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_column
declare
    batch record;
    the_only_box text;
    step integer;
begin
    if not relaxed and waybill.may_lose_its_commit() then
        raise exception 'waybill: synchronous_commit of this session is %, so its commit may get lost',
            current_setting('synchronous_commit')
            using errcode = 'invalid_transaction_state', hint = 'Turn it on, or say relaxed => true.';
    end if;
    if '' = any ($3) then
        select case when count(*) = 1 then min(b.name) end into the_only_box
        from (select name from waybill.box limit 2) b;
        if the_only_box is null then
            raise exception 'waybill: box: say which one, box => ''…''; this store has %',
                coalesce((select string_agg(b.name, ', ' order by b.name)
                    from (select name from waybill.box order by name limit 20) b), 'none')
                using errcode = 'invalid_parameter_value';
        end if;
    end if;

    with item as materialized (
        -- One owner must see all that may collapse, so they share a lane, and with it a slot.
        select i.*, coalesce(i.own_id, waybill.new_id()) as id,
            coalesce(nullif(i.own_lane, ''), i.collapse_key) as lane,
            coalesce(nullif(i.dedup_key, ''), i.own_id::text, '') as key,
            b.id as home, b.name as scope, b.dedup_window, b.body_bytes_max
        from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) with ordinality as i (
            type, body, box, tenant, user_id, own_lane, dedup_key, collapse_key, correlation_id,
            content_type, source, attributes, own_id, place)
        left join waybill.box b on b.name = coalesce(nullif(i.box, ''), the_only_box)
    ), placed as (
        select i.*, p.id as partition,
            case
                when i.home is null then format('box: %I is not a box of this store; the '
                    'application that handles it declares it when it starts', i.box)
                when i.type is null or i.type = '' then 'type is empty; every message needs one'
                when i.body is null then 'body is null; it may be empty, but not missing'
                when octet_length(i.body) > i.body_bytes_max then format('body has %s bytes; at '
                    'most %s are allowed (body_bytes_max of its box)', octet_length(i.body),
                    i.body_bytes_max)
                when greatest(octet_length(i.type), octet_length(i.tenant),
                    octet_length(i.user_id), octet_length(i.own_lane), octet_length(i.dedup_key),
                    octet_length(i.collapse_key), octet_length(i.correlation_id),
                    octet_length(i.content_type), octet_length(i.source)) > 256
                    then (select format('%s has %s bytes; at most 256 are allowed', f.name, f.bytes)
                        from (values ('type', octet_length(i.type)),
                            ('tenant', octet_length(i.tenant)), ('user_id', octet_length(i.user_id)),
                            ('lane', octet_length(i.own_lane)),
                            ('dedup_key', octet_length(i.dedup_key)),
                            ('collapse_key', octet_length(i.collapse_key)),
                            ('correlation_id', octet_length(i.correlation_id)),
                            ('content_type', octet_length(i.content_type)),
                            ('source', octet_length(i.source))) as f (name, bytes)
                        where f.bytes > 256 limit 1)
                when cardinality(i.attributes::text[]) > 200 or (select sum(octet_length(a))
                    from unnest(i.attributes::text[]) a) > 65536
                    then 'attributes: at most 100 of 64 KiB together are allowed'
            end as problem
        from item i
        left join waybill.partition p on p.box = i.home and waybill.slot(
            case when i.lane <> '' then convert_to(i.lane, 'UTF8') else uuid_send(i.id) end)
            between p.first_slot and p.last_slot
    )
    select count(*)::integer as size, (array_agg(p.problem order by p.place)
            filter (where p.problem is not null))[1] as problem,
        count(distinct p.id) < count(*) or count(distinct (p.scope, p.key))
            filter (where p.key <> '') < count(*) filter (where p.key <> '') as has_doubles,
        array_agg(p.id order by p.place) as ids, array_agg(p.partition order by p.place) as partitions,
        array_agg(p.lane order by p.place) as lanes,
        array_agg(waybill.lane_number(p.lane) order by p.place) as lane_numbers,
        array_agg(p.key order by p.place) as keys,
        array_agg(p.scope order by p.place) as scopes,
        array_agg(p.dedup_window order by p.place) as windows,
        array_agg(case when p.key <> '' then sha256(p.body) else ''::bytea end order by p.place)
            as hashes
    into batch from placed p;
    if batch.problem is not null then
        raise exception 'waybill: %', batch.problem using errcode = 'invalid_parameter_value';
    end if;
    if batch.size = 0 then
        return;
    end if;

    if ordered then
        -- Before a sequence is drawn; in the order of the keys, so that two calls do not deadlock.
        perform pg_advisory_xact_lock(l.key) from (
            select distinct waybill.lane_lock(i.scope, i.lane) as key
            from unnest(batch.scopes, batch.lanes) as i (scope, lane)
            where i.lane <> '' order by 1) l;
    end if;
    -- Those that share an id or a key go one by one: each answer depends on what came before.
    step := case when batch.has_doubles then 1 else batch.size end;
    for n in 1 .. batch.size by step loop
        return query select
            case when a.sequence is not null then 'fresh' when a.same then 'duplicate'
                else 'conflict' end,
            a.first, coalesce(a.sequence, 0),
            case when a.sequence is null then 0 else batch.partitions[n + a.place - 1] end,
            a.is_dead
        from waybill.append(
            batch.ids[n:n + step - 1], batch.partitions[n:n + step - 1], $14[n:n + step - 1],
            $15[n:n + step - 1], $1[n:n + step - 1], $11[n:n + step - 1], $10[n:n + step - 1],
            $4[n:n + step - 1], $5[n:n + step - 1], $9[n:n + step - 1],
            batch.lanes[n:n + step - 1], batch.lane_numbers[n:n + step - 1],
            batch.keys[n:n + step - 1], $8[n:n + step - 1],
            $12[n:n + step - 1], $2[n:n + step - 1], batch.scopes[n:n + step - 1],
            batch.windows[n:n + step - 1], batch.hashes[n:n + step - 1], false) a;
    end loop;
    if notify then
        perform pg_notify(trim('."' from 'waybill.'), '');
    end if;
end
$function$;

-- One message, for every language:
--
--   select waybill.publish(type => 'order.placed', body => convert_to($1, 'UTF8'), lane => $2);
--
-- Answers the id of the message, or of the first one with the same dedup key and body. Another body under
-- the same key is an error (unique_violation): nobody should believe that it was announced. The box may be
-- left out when there is only one.
create function waybill.publish(
    type text, body bytea, box text default null, tenant text default '',
    user_id text default '', lane text default '', dedup_key text default '',
    collapse_key text default '', correlation_id text default '', content_type text default '',
    not_before timestamptz default null, attributes jsonb default null, id uuid default null,
    source text default '', ordered boolean default false, notify boolean default false,
    relaxed boolean default false)
returns uuid
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_variable
declare
    names text[];
    answer record;
begin
    if jsonb_typeof(attributes) <> 'object' then
        raise exception 'waybill: attributes: % was given; it is an object of names and texts',
            jsonb_typeof(attributes) using errcode = 'invalid_parameter_value';
    end if;
    if not isfinite(not_before) then
        raise exception 'waybill: not_before: % is no moment; leave it out for now', not_before
            using errcode = 'invalid_parameter_value';
    end if;
    select array_agg(e.entry order by a.key collate "C", e.place) into names
    from jsonb_each_text(attributes) a
    cross join lateral unnest(array[a.key, coalesce(a.value, '')]) with ordinality as e (entry, place);

    select m.* into answer from waybill.publish_many(
        array[type], array[body], array[coalesce(box, '')], array[coalesce(tenant, '')],
        array[coalesce(user_id, '')], array[coalesce(lane, '')], array[coalesce(dedup_key, '')],
        array[coalesce(collapse_key, '')], array[coalesce(correlation_id, '')],
        array[coalesce(content_type, '')], array[coalesce(source, '')], array[names::text],
        array[id], array[0::bigint],
        array[coalesce((extract(epoch from not_before) * 1000000)::bigint, 0)],
        coalesce(ordered, false), coalesce(notify, false), coalesce(relaxed, false)) m;
    if answer.status = 'conflict' then
        raise exception 'waybill: the key "%" stands for another body, of message %',
            coalesce(nullif(dedup_key, ''), id::text), answer.id using errcode = 'unique_violation';
    end if;
    return answer.id;
end
$function$;

revoke execute on function waybill.publish_many(text[], bytea[], text[], text[], text[], text[],
    text[], text[], text[], text[], text[], text[], uuid[], bigint[], bigint[], boolean, boolean,
    boolean) from public;
revoke execute on function waybill.publish(text, bytea, text, text, text, text, text, text, text,
    text, timestamptz, jsonb, uuid, text, boolean, boolean, boolean) from public;

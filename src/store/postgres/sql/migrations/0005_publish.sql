-- Publishing by SQL alone, in the caller's transaction: a message that is there if and only if it commits.
--
--   select waybill.publish(type => 'order.placed', body => convert_to($1, 'UTF8'), lane => $2);
--
-- Answers the id of the message, or of the first one with the same dedup key and body. Another body under
-- the same key is an error (unique_violation): nobody should believe that it was announced. The box may be
-- left out when there is only one. It runs with the rights of whoever migrated: a role that may execute it
-- needs no right on any table. The names and the order of these arguments are never changed.
create function waybill.publish(
    type text, body bytea, box text default null, tenant text default '',
    user_id text default '', lane text default '', dedup_key text default '',
    collapse_key text default '', correlation_id text default '', content_type text default '',
    not_before timestamptz default null, attributes jsonb default null, id uuid default null,
    source text default '')
returns uuid
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_variable
declare
    home waybill.box;
    place text;
    names text[];
    answer record;
    new_id uuid;
    key text;
begin
    if box is null then
        select b.* into home from waybill.box b;
        if (select count(*) from (select from waybill.box limit 2) b) <> 1 then
            raise exception 'waybill: say which box; this store has none, or several'
                using errcode = 'invalid_parameter_value';
        end if;
    else
        select b.* into home from waybill.box b where b.name = box;
    end if;
    if home.id is null then
        raise exception 'waybill: there is no box "%"', box
            using errcode = 'invalid_parameter_value',
                hint = 'The application that handles it declares it when it starts.';
    end if;
    if body is null or type is null or type = '' then
        raise exception 'waybill: a message needs a type and a body'
            using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(body) > home.body_bytes_max then
        raise exception 'waybill: the body has % bytes; box "%" allows %', octet_length(body),
            home.name, home.body_bytes_max using errcode = 'invalid_parameter_value';
    end if;
    if greatest(octet_length(type), octet_length(tenant), octet_length(user_id),
        octet_length(lane), octet_length(dedup_key), octet_length(collapse_key),
        octet_length(correlation_id), octet_length(content_type), octet_length(source)) > 256
    then
        raise exception 'waybill: a field has more than 256 bytes'
            using errcode = 'invalid_parameter_value';
    end if;
    select array_agg(e.entry order by a.key collate "C", e.place) into names
    from jsonb_each_text(attributes) a
    cross join lateral unnest(array[a.key, coalesce(a.value, '')]) with ordinality as e (entry, place);
    if cardinality(names) > 200
        or (select sum(octet_length(n)) from unnest(names) n) > 65536
    then
        raise exception 'waybill: at most 100 attributes of 64 KiB together'
            using errcode = 'invalid_parameter_value';
    end if;

    -- UUIDv7: neighbours in time are neighbours in an index. An id the caller brings is also its key.
    new_id := coalesce(id, encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6), 52, 1), 53, 1), 'hex')::uuid);
    key := case when coalesce(dedup_key, '') <> '' then dedup_key
        when id is not null then id::text else '' end;
    -- One owner must see all that may collapse, so they share a lane, and with it a slot.
    place := coalesce(nullif(lane, ''), collapse_key, '');

    select a.* into answer from waybill.append(
        array[new_id],
        array[(select p.id from waybill.partition p where p.box = home.id
            and waybill.slot(case when place <> '' then convert_to(place, 'UTF8')
                else uuid_send(new_id) end) between p.first_slot and p.last_slot)],
        array[0::bigint],
        array[coalesce((extract(epoch from not_before) * 1000000)::bigint, 0)],
        array[type], array[coalesce(source, '')], array[coalesce(content_type, '')],
        array[coalesce(tenant, '')], array[coalesce(user_id, '')],
        array[coalesce(correlation_id, '')], array[place], array[key],
        array[coalesce(collapse_key, '')], array[names::text], array[body], array[home.name],
        array[home.dedup_window],
        array[case when key <> '' then sha256(body) else ''::bytea end]) a;
    if answer.sequence is null and not answer.same then
        raise exception 'waybill: the key "%" stands for another body, of message %', key,
            answer.first using errcode = 'unique_violation';
    end if;
    return answer.first;
end
$function$;
revoke execute on function waybill.publish(text, bytea, text, text, text, text, text, text, text,
    text, timestamptz, jsonb, uuid, text) from public;

-- The idempotent receiver, for every language: puts the mark of a consumer in the caller's transaction and
-- answers whether it is the first. False: it ran before; do nothing. Whoever comes while another
-- transaction has put the same mark waits for its end: true if it rolled back, false if it committed.
--
--   begin; select waybill.guard('billing', 'order.placed', $1, keep => '30 days'); -- and if it is true:
--   insert into charges …; commit;
--
-- A mark is a dedup record: no box has a colon in its name, and the length keeps consumer and type apart.
-- One that has ended counts as none. Without a key nothing is marked, and the answer is null. Like publish,
-- it runs with the rights of whoever migrated.
create function waybill.guard(
    consumer text, type text, key text, id uuid default null, keep interval default null,
    patience interval default null, relaxed boolean default false)
returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_variable
declare
    now_us constant bigint := waybill.clock();
    patience_before constant text := current_setting('lock_timeout');
    is_first boolean;
begin
    if not relaxed and waybill.may_lose_its_commit() then
        raise exception 'waybill: synchronous_commit of this session is %, so its commit may get lost',
            current_setting('synchronous_commit')
            using errcode = 'invalid_transaction_state', hint = 'Turn it on, or say relaxed => true.';
    end if;
    if coalesce(consumer, '') = '' or octet_length(consumer) > 200 or type is null or key = '' then
        raise exception 'waybill: a guard needs a consumer of 1 … 200 bytes, a type and a key'
            using errcode = 'invalid_parameter_value';
    end if;
    if key is null then
        return null;
    end if;
    if patience is not null then
        perform set_config('lock_timeout',
            greatest(extract(epoch from patience) * 1000, 1)::integer || 'ms', true);
    end if;
    insert into waybill.dedup as d (scope, key, id, body_hash, until)
    values (
        'guard:' || octet_length(consumer) || ':' || consumer || type, key,
        coalesce(id, '00000000-0000-0000-0000-000000000000'), '',
        now_us + (extract(epoch from keep) * 1000000)::bigint)
    on conflict on constraint dedup_pkey do update
    set id = excluded.id, until = excluded.until, duplicates = 0
    where d.until <= now_us;
    is_first := found;
    -- What the consumer waits for is its own affair.
    perform set_config('lock_timeout', patience_before, true);
    return is_first;
end
$function$;
revoke execute on function waybill.guard(text, text, text, uuid, interval, interval, boolean)
    from public;

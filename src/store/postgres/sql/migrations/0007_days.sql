-- The tables of days: made ahead, dropped when nothing in them is needed any more. Whatever takes a lock that
-- appends wait for waits itself for a moment only, and gives way: there is a next time.

-- The smallest id of a moment.
create function waybill.first_id(at bigint) returns uuid
language sql immutable parallel safe as $$
    select (lpad(to_hex(at / 1000), 12, '0') || repeat('0', 20))::uuid
$$;

-- The end of the names of a day's tables.
create function waybill.day_name(day bigint) returns text
language sql immutable parallel safe as $$
    select to_char(timestamp '1970-01-01' + day * interval '1 day', 'YYYYMMDD')
$$;

-- Makes the tables of today and `ahead` days more that are not there yet, `most` of them, and says how many. A day of which
-- messages came before its table was made stays where they are, in the table for the rest. Attaching
-- reads that one while appends to it wait. It is small unless callers bring ids that are not UUIDv7: whoever
-- calls this sets a statement_timeout.
create function waybill.make_days(ahead integer, most integer) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $function$
declare
    today constant bigint := waybill.clock() / 86400000000;
    made integer := 0;
    parent text;
    child text;
begin
    -- Two who make at once do it once.
    if not pg_try_advisory_xact_lock(hashtextextended('waybill.days', 0)) then
        return 0;
    end if;
    for day in today .. today + ahead loop
        if to_regclass('waybill.finished_' || waybill.day_name(day)) is not null then
            continue;
        end if;
        begin
            foreach parent in array array['message', 'finished'] loop
                child := parent || '_' || waybill.day_name(day);
                execute format('create table waybill.%I (like waybill.%I including defaults)',
                    child, parent);
                execute format('alter table waybill.%I set (autovacuum_analyze_scale_factor = 0.05)',
                    child);
                execute format('alter table waybill.%I attach partition waybill.%I '
                    'for values from (%L) to (%L)', parent, child,
                    waybill.first_id(day * 86400000000), waybill.first_id((day + 1) * 86400000000));
            end loop;
            made := made + 1;
            exit when made >= most;
        exception
            when check_violation then null;  -- its messages are in the table for the rest
            when lock_not_available or deadlock_detected then return made;
        end;
    end loop;
    return made;
end
$function$;

-- Days that ended at `before` or earlier, the oldest first, by the end of their tables' names.
create function waybill.days_before(before bigint) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select right(c.relname, 8) from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'waybill.finished'::regclass and c.relname ~ '^finished_[0-9]{8}$'
        and right(c.relname, 8) < waybill.day_name(before / 86400000000)
    order by 1
$$;

-- What of a day must stay: open, held by letters, finished too lately, or of a box that keeps for ever. Every
-- message has open rows or is finished; both are found by an index, and nobody reads the day itself.
create function waybill.survivors(day text, boxes integer[], cuts bigint[], rows_max bigint)
returns uuid[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $function$
declare
    first uuid;
    last uuid;
    newest bigint;
    found uuid[];
begin
    execute format($$
        select (select id from waybill.%1$I order by id limit 1),
            (select id from waybill.%1$I order by id desc limit 1), max(sequence)
        from waybill.%1$I
        $$, 'message_' || day)
    into first, last, newest;
    execute format($$
        select array(
            select o.id from waybill.partition p
            join waybill.open o on o.partition = p.id and o.parked in (false, true)
                and o.sequence <= $1
            where o.id between $2 and $3
            union
            select o.id from waybill.open o
            where o.message <= $1 and o.id between $2 and $3
            union
            select f.id from waybill.%1$I f where f.held
            union
            select f.id from waybill.box b
            left join unnest($4::integer[], $5::bigint[]) as c (box, cut) on c.box = b.id
            join waybill.%1$I f on f.box = b.id and f.held = false
                and f.at > coalesce(c.cut, -1)
            limit $6)
        $$, 'finished_' || day)
    into found using newest, first, last, boxes, cuts, rows_max + 1;
    return found;
end
$function$;

-- Before a day is dropped, while nobody waits for it: its attempts go, up to `rows_max` with each call. `ready`
-- is null when there are more of them, or others were at work: come again. False: more than `survivors_max`
-- messages must stay. `cuts` is the moment up to which the box at the same place does not keep what is finished.
create function waybill.clear_day(
    day text, boxes integer[], cuts bigint[], survivors_max bigint, rows_max bigint)
returns table (ready boolean, messages bigint, attempts bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $function$
declare
    staying uuid[];
    forgotten bigint;
    amount bigint;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('waybill.days', 0))
        or to_regclass('waybill.finished_' || day) is null
    then
        return query select null::boolean, 0::bigint, 0::bigint;
        return;
    end if;
    staying := waybill.survivors(day, boxes, cuts, survivors_max);
    if cardinality(staying) > survivors_max then
        return query select false, 0::bigint, 0::bigint;
        return;
    end if;
    execute format($$
        delete from waybill.attempt a using (
            select a.message, a.target, a.requeues, a.number
            from (select min(sequence) as first, max(sequence) as last from waybill.%1$I) d
            join waybill.attempt a on a.message between d.first and d.last
            join waybill.%1$I m on m.sequence = a.message
            where m.id <> all ($1) limit $2) o
        where a.message = o.message and a.target = o.target and a.requeues = o.requeues
            and a.number = o.number
        $$, 'message_' || day) using staying, rows_max;
    get diagnostics forgotten = row_count;
    if forgotten >= rows_max then
        return query select null::boolean, 0::bigint, forgotten;
        return;
    end if;
    -- A day of millions is not counted to the last one.
    select greatest(c.reltuples, 0)::bigint into amount from pg_class c
    where c.oid = ('waybill.message_' || day)::regclass;
    if amount < 100000 then
        execute format('select count(*) from waybill.%I', 'message_' || day) into amount;
    end if;
    return query select true, amount, forgotten;
end
$function$;

-- Drops the tables of a day. Up to `survivors_max` messages that must stay move to the table for the rest, and
-- are counted in `stayed`; with more of them the day stays, and `dropped` is false. Null: others were at work,
-- come again. Everybody waits for this one: whoever calls it sets a statement_timeout.
create function waybill.drop_day(
    day text, boxes integer[], cuts bigint[], survivors_max bigint)
returns table (dropped boolean, stayed bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $function$
declare
    staying uuid[];
    parent text;
    child text;
begin
    if not pg_try_advisory_xact_lock(hashtextextended('waybill.days', 0))
        or to_regclass('waybill.finished_' || day) is null
    then
        return query select null::boolean, 0::bigint;
        return;
    end if;
    begin
        lock table only waybill.message in access exclusive mode;
        lock table only waybill.finished in access exclusive mode;
        -- From here on nobody adds a message to the day or finishes one of it.
        staying := waybill.survivors(day, boxes, cuts, survivors_max);
        if cardinality(staying) > survivors_max then
            return query select false, 0::bigint;
            return;
        end if;
        foreach parent in array array['message', 'finished'] loop
            child := parent || '_' || day;
            execute format('alter table waybill.%I detach partition waybill.%I', parent, child);
            execute format('insert into waybill.%I select * from waybill.%I where id = any ($1)',
                parent, child) using staying;
            execute format('drop table waybill.%I', child);
        end loop;
    exception when lock_not_available or deadlock_detected then
        return query select null::boolean, 0::bigint;
        return;
    end;
    return query select true, cardinality(staying)::bigint;
end
$function$;

-- Deletes finished messages of a box row by row, at most `rows_max`, from the tables whose names end so; ''
-- is all of them. What is not held has neither open rows nor letters, and nobody can requeue it. Two who
-- sweep at once each take their own.
create function waybill.sweep_rows(tables text, box integer, cut bigint, rows_max bigint)
returns table (messages bigint, more boolean, attempts bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $function$
begin
    return query execute format($$
        with old as materialized (
            select f.id, f.at, f.tableoid as home, f.ctid as tid from waybill.%1$I f
            where f.box = $1 and f.held = false and f.at <= $2
            order by f.at limit $3 + 1 for update skip locked
        ), first as materialized (
            select * from old order by at limit $3
        ), filed as (
            -- By their places: thousands have the same age.
            delete from waybill.%1$I f using first o
            where f.tableoid = o.home and f.ctid = o.tid returning 1
        ), gone as (
            delete from waybill.%2$I m using first o where m.id = o.id returning m.sequence
        ), forgotten as (
            delete from waybill.attempt a using gone g where a.message = g.sequence returning 1
        )
        select (select count(*) from filed), (select count(*) from old) > $3,
            (select count(*) from forgotten)
        $$, 'finished' || tables, 'message' || tables) using box, cut, rows_max;
end
$function$;

-- They make, drop and delete with the rights of whoever migrated, and are for whoever runs the boxes.
revoke execute on function waybill.make_days(integer, integer) from public;
revoke execute on function waybill.survivors(text, integer[], bigint[], bigint) from public;
revoke execute on function waybill.clear_day(text, integer[], bigint[], bigint, bigint) from public;
revoke execute on function waybill.drop_day(text, integer[], bigint[], bigint) from public;
revoke execute on function waybill.sweep_rows(text, integer, bigint, bigint) from public;

select waybill.make_days(14, 15);

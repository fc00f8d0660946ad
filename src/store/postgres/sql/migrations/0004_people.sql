-- For people's questions.

-- waybill::Filter::State of a message: 1 open, 2 parked, 3 done, 4 dead.
create function waybill.state_of(message bigint, home integer) returns smallint
language sql stable as $$
    select case
        when o.rows = 0 then
            case when exists (select from waybill.dead d where d.message = $1) then 4 else 3 end
        when o.parked then 2 else 1 end::smallint
    from (
        select count(*) as rows, bool_and(parked) as parked from (
            select o.parked from waybill.open o where o.partition = home
                and o.parked in (false, true) and o.sequence = $1 and o.message is null
            union all
            select o.parked from waybill.open o where o.message = $1) r) o
$$;

-- The messages among which those in that state are, or all for 0: most are done, and who asks for others does not walk
-- over them.
create function waybill.messages_in(state smallint) returns setof waybill.message
language sql stable as $$
    select m.* from waybill.message m where $1 in (0, 3)
    union all
    select m.* from waybill.message m where $1 in (1, 2)
        and m.id in (select o.id from waybill.open o)
    union all
    select m.* from waybill.message m where $1 = 4
        and m.sequence in (select d.message from waybill.dead d)
$$;

-- Something is recorded of the message for this target.
create function waybill.concerns(message bigint, home integer, target text) returns boolean
language sql stable as $$
    select exists (select from waybill.dead d where d.message = $1 and d.target = $3)
        or exists (select from waybill.attempt a where a.message = $1 and a.target = $3)
        or exists (
            select from (
                select o.progress, o.only_targets from waybill.open o where o.partition = home
                    and o.parked in (false, true) and o.sequence = $1 and o.message is null
                union all
                select o.progress, o.only_targets from waybill.open o where o.message = $1) r
            where $3 = any (r.only_targets)
                or exists (select from generate_subscripts(r.progress, 1) as i
                    where i % 6 = 1 and r.progress[i] = $3))
$$;

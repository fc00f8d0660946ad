-- Which open rows are in which lane: a list that is made, and brought up to date, when somebody asks.
--
-- By snapshots, as increments are: of all that `seen` saw, what is open and not beyond `through` is listed; `through` is null when
-- the list is whole. What `seen` did not see is found by the transaction that wrote it. Rows that are gone stay listed;
-- whoever reads looks for the rows themselves. A list is begun anew, as another edition, when it is of another life of the
-- store, when most of it must be of what is gone, and when more has come than one step should list.

-- One step: up to `chunk` rows, and ten times as many of those that came since. True: the list is whole and up to date.
-- False: come again.
--
-- A step looks at a range of sequences, for all that is in the index there costs time, also what is long gone and kept by
-- somebody's snapshot: `width` of them, more and more while little is found, and one chunk, of which no row needs to be
-- left out, where there is much. A step that takes too long is cancelled, and the next one looks at less.
create function waybill.list_lanes(chunk bigint) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
declare
    life constant text := waybill.generation();
    list waybill.lane_list;
    begun constant timestamptz := clock_timestamp();
    drawn_now bigint;
    seen_now pg_snapshot;
    came_now bigint;
    last_drawn bigint;
    low bigint;
    upto bigint;
    each_max bigint;
    known bigint;
    reached bigint;
    amount bigint;
    added bigint;
    ended boolean := false;
    cancelled boolean := false;
begin
    -- Nobody queues (an insert would, if it met the row while somebody changes it): somebody else is doing it.
    if not exists (select from waybill.lane_list) then
        insert into waybill.lane_list (generation, edition, seen, drawn, through, listed, listed_max)
        values ('', 0, pg_current_snapshot(), 0, 0, 0, 0) on conflict do nothing;
    end if;
    select * into list from waybill.lane_list for update skip locked;
    if not found then
        perform pg_sleep(0.005);
        return false;
    end if;
    select s.last_value into drawn_now from waybill.sequence s;
    -- Before the statements that list: they see all that this one saw.
    select pg_current_snapshot() into seen_now;

    -- First what came since, if its place is not still ahead.
    if list.generation = life and list.listed <= list.listed_max
        and drawn_now - list.drawn <= greatest(10 * chunk, list.listed)
    then
        with came as materialized (
            select n.* from (
                select o.lane, o.partition, o.sequence from waybill.open o
                where o.xact >= pg_snapshot_xmax(list.seen)
                    and o.xact < pg_snapshot_xmax(pg_current_snapshot())
                union all
                select o.lane, o.partition, o.sequence from waybill.open o
                where o.xact = any (array(select pg_snapshot_xip(list.seen)))) n
            where list.through is null or n.sequence <= list.through limit 10 * chunk + 1
        ), listed as (
            insert into waybill.lane_row (edition, lane, partition, sequence)
            select list.edition, c.lane, c.partition, c.sequence from came c
            where c.lane is not null order by c.lane, c.partition, c.sequence
            on conflict do nothing returning 1
        )
        select (select count(*) from came), (select count(*) from listed) into came_now, added;
        list.listed := list.listed + added;
    end if;
    -- Otherwise, or when that was not all, it is begun anew.
    if came_now > 10 * chunk or came_now is null then
        list.generation := life;
        list.edition := list.edition + 1;
        list.through := 0;
        list.width := chunk;
        list.listed := 0;
        list.listed_max := 9223372036854775807;
    end if;
    list.seen := seen_now;
    list.drawn := drawn_now;

    if list.through is not null then
        -- All that `seen` saw has its place up to here.
        select s.last_value into last_drawn from waybill.sequence s;
        select coalesce(min(coalesce(w.through, 0)), 0), greatest(chunk / greatest(count(*), 1), 1),
            coalesce(sum(cardinality(w.still_open)), 0)
        into low, each_max, known
        from waybill.partition p left join waybill.low_water w on w.partition = p.id;
        list.width := greatest(list.width, chunk);
        upto := list.through + list.width;
        if upto < low and known <= 4 * chunk then
            -- Below all marks nothing is walked over: what is open there is known, and not too much to look for.
            upto := low;
            each_max := 4 * chunk;
        elsif upto <= list.through + chunk then
            each_max := chunk;
        end if;
        begin
            -- Ready and parked ones by one statement: a row that goes from one to the other is in one of them. All together
            -- they are complete up to the first place where one partition had more.
            with found as materialized (
                select p.id as partition, k.parked, n.lane, n.sequence
                from waybill.partition p cross join unnest(array[false, true]) as k (parked)
                cross join lateral (
                    select e.lane, e.sequence from (
                        (select o.lane, o.sequence from waybill.low_water w
                        cross join lateral unnest(w.still_open) as u (sequence)
                        cross join lateral (
                            select o.lane, o.sequence from waybill.open o
                            where o.parked = k.parked and o.partition = p.id
                                and o.sequence = u.sequence offset 0) o
                        where w.partition = p.id and u.sequence > list.through and u.sequence <= upto)
                        union all
                        (select o.lane, o.sequence from waybill.open o
                        where o.parked = k.parked and o.partition = p.id and o.sequence <= upto
                            and o.sequence > greatest(list.through,
                                (select w.through from waybill.low_water w where w.partition = p.id))
                        order by o.sequence limit each_max)) e
                    order by e.sequence limit each_max) n
            ), edge as materialized (
                select min(e.last) as last from (
                    select max(f.sequence) as last from found f
                    group by f.partition, f.parked having count(*) >= each_max) e
            ), listed as (
                insert into waybill.lane_row (edition, lane, partition, sequence)
                select list.edition, f.lane, f.partition, f.sequence from found f cross join edge
                where f.lane is not null and (edge.last is null or f.sequence <= edge.last)
                order by f.lane, f.partition, f.sequence
                on conflict do nothing returning 1
            )
            select (select edge.last from edge), (select count(*) from found),
                (select count(*) from listed)
            into reached, amount, added;
            ended := true;
        exception when query_canceled then
            -- What follows has no timeout of its own any more: no more than to write it down. Also of a step that had
            -- ended when it was cancelled: its rows are gone.
            cancelled := true;
            list.width := chunk;
        end;
    end if;
    if ended and not cancelled then
        list.listed := list.listed + added;
        if reached is not null then
            list.width := chunk;
        elsif clock_timestamp() - begun > interval '100 ms' then
            list.width := greatest(list.width / 2, chunk);
        elsif amount < chunk / 4 and clock_timestamp() - begun < interval '50 ms' then
            list.width := least(2 * list.width, 1::bigint << 50);
        end if;
        list.through := coalesce(reached, upto);
        if reached is null and upto >= last_drawn then
            list.through := null;
            list.listed_max := greatest(4 * chunk, 2 * list.listed);
        end if;
    end if;

    -- What earlier editions left, from where it was last deleted: a held snapshot keeps what is deleted in the index. Not
    -- where listing took long: a call that is cancelled here would have done nothing.
    if list.oldest < list.edition and not cancelled
        and clock_timestamp() - begun < interval '500 ms'
    then
        with old as materialized (
            select r.ctid as tid, r.lane, r.partition, r.sequence from waybill.lane_row r
            where r.edition = list.oldest
                and (r.lane, r.partition, r.sequence)
                    > (list.gone_lane, list.gone_partition, list.gone_sequence)
            order by r.lane, r.partition, r.sequence limit 2 * chunk
        ), gone as (
            delete from waybill.lane_row r where r.ctid = any (array(select o.tid from old o))
        )
        select count(*) over (), o.lane, o.partition, o.sequence
        into amount, list.gone_lane, list.gone_partition, list.gone_sequence
        from old o order by o.lane desc, o.partition desc, o.sequence desc limit 1;
        if coalesce(amount, 0) < 2 * chunk then
            list.oldest := list.oldest + 1;
            list.gone_lane := -9223372036854775808;
            list.gone_partition := 0;
            list.gone_sequence := 0;
        end if;
    end if;
    update waybill.lane_list set generation = list.generation, edition = list.edition,
        seen = list.seen, drawn = list.drawn, through = list.through, listed = list.listed,
        listed_max = list.listed_max, width = list.width, oldest = list.oldest,
        gone_lane = list.gone_lane, gone_partition = list.gone_partition,
        gone_sequence = list.gone_sequence;
    return list.through is null;
end
$function$;
revoke execute on function waybill.list_lanes(bigint) from public;

-- Which open rows are in which lane: a list that is made, and brought up to date, when somebody asks.
--
-- By snapshots, as increments are: all that `seen` saw is listed, and what it did not see is found by the transaction that
-- wrote it. Rows that are gone stay listed; whoever reads looks for the rows themselves. A list is begun anew when it
-- is of another life of the store, when most of it must be of what is gone, and when more has come than one
-- statement should list.

-- One step: at most about `chunk` rows are listed, in a moment. True: the list is whole and up to date.
create function waybill.list_lanes(chunk bigint) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
declare
    life constant text := waybill.generation();
    list waybill.lane_list;
    drawn_now bigint;
    seen_now pg_snapshot;
    first bigint;
    added bigint := 0;
begin
    insert into waybill.lane_list (generation, edition, seen, drawn, through, listed, listed_max)
    values ('', 0, pg_current_snapshot(), 0, 0, 0, 0) on conflict do nothing;
    -- Who comes second waits, and finds it done.
    select * into list from waybill.lane_list for update;
    select s.last_value into drawn_now from waybill.sequence s;
    -- Before the statements that list: they see all that this one saw.
    select pg_current_snapshot() into seen_now;

    if list.generation <> life or list.listed > list.listed_max
        or (list.through is null and drawn_now - list.drawn > 10 * chunk)
    then
        list.generation := life;
        list.edition := list.edition + 1;
        list.seen := seen_now;
        list.drawn := drawn_now;
        list.through := 0;
        list.listed := 0;
        list.listed_max := 9223372036854775807;
    end if;

    if list.through is null then
        insert into waybill.lane_row (edition, lane, partition, sequence)
        select list.edition, n.lane, n.partition, n.sequence
        from (
            select o.lane, o.partition, o.sequence from waybill.open o
            where o.xact >= pg_snapshot_xmax(list.seen)
                and o.xact < pg_snapshot_xmax(pg_current_snapshot())
            union all
            select o.lane, o.partition, o.sequence from waybill.open o
            where o.xact = any (array(select pg_snapshot_xip(list.seen)))) n
        where n.lane is not null order by n.lane, n.partition, n.sequence
        on conflict do nothing;
        get diagnostics added = row_count;
        list.seen := seen_now;
        list.drawn := drawn_now;
    else
        -- Ready and parked ones by one statement: a row that goes from one to the other is in one of them.
        select min(n.sequence) into first
        from waybill.partition p cross join unnest(array[false, true]) as k (parked)
        cross join lateral (
            select o.sequence from waybill.open o
            where o.parked = k.parked and o.partition = p.id and o.sequence > list.through
            order by o.sequence limit 1) n;
        if first is null then
            list.through := null;
            list.listed_max := greatest(4 * chunk, 2 * list.listed);
        else
            insert into waybill.lane_row (edition, lane, partition, sequence)
            select list.edition, n.lane, p.id, n.sequence
            from waybill.partition p cross join unnest(array[false, true]) as k (parked)
            cross join lateral (
                select o.lane, o.sequence from waybill.open o
                where o.parked = k.parked and o.partition = p.id
                    and o.sequence >= first and o.sequence < first + chunk offset 0) n
            where n.lane is not null order by n.lane, p.id, n.sequence
            on conflict do nothing;
            get diagnostics added = row_count;
            list.through := first + chunk - 1;
        end if;
    end if;
    list.listed := list.listed + added;

    -- What earlier editions left.
    delete from waybill.lane_row r where r.ctid = any (array(
        select old.ctid from waybill.lane_row old where old.edition < list.edition limit chunk));
    update waybill.lane_list set generation = list.generation, edition = list.edition,
        seen = list.seen, drawn = list.drawn, through = list.through, listed = list.listed,
        listed_max = list.listed_max;
    return list.through is null;
end
$function$;
revoke execute on function waybill.list_lanes(bigint) from public;

-- Housekeeping and notes, by name.

-- ---- upkeep ---------------------------------------------------------------------------------------

-- name: make_days
select waybill.make_days($1::integer, 1);

-- name: days_before
select waybill.days_before($1::bigint);

-- name: clear_day
select ready, messages, attempts
from waybill.clear_day($1::text, $2::integer[], $3::bigint[], $4::bigint, $5::bigint);

-- name: drop_day
select dropped, stayed
from waybill.drop_day($1::text, $2::integer[], $3::bigint[], $4::bigint);

-- name: sweep_messages
-- $1: '' for all of them, or the end of the name of one table of messages.
select messages, more, attempts
from waybill.sweep_rows($1::text, $2::integer, $3::bigint, $4::bigint);

-- name: expired_letters
-- Not the letter a halted lane stands at: without it nobody could requeue its head.
select d.message, d.target from waybill.dead d join waybill.message m on m.sequence = d.message
where d.box = $1::integer and d.at <= $2::bigint and not exists (
    select from waybill.open o where o.partition = m.partition and o.parked in (false, true)
        and o.sequence = d.sequence and o.halted offset 0)
order by d.at, d.number limit $3::bigint;

-- name: delete_expired_letter
delete from waybill.dead d using waybill.message m
where d.message = $1::bigint and d.target = $2::text and d.at <= $3::bigint
    and m.sequence = d.message and not exists (
        select from waybill.open o where o.partition = m.partition and o.parked in (false, true)
            and o.sequence = d.sequence and o.halted offset 0)
returning true;

-- name: sweep_attempts
with old as (
    select a.message, a.target, a.requeues, a.number, a.at from waybill.attempt a
    where a.box = $1::integer and a.at <= $2::bigint
    order by a.at limit $3::bigint + 1 for update skip locked
), gone as (
    delete from waybill.attempt a using (select * from old order by at limit $3::bigint) o
    where a.message = o.message and a.target = o.target and a.requeues = o.requeues
        and a.number = o.number
    returning 1
)
select (select count(*) from gone), (select count(*) from old) > $3::bigint;

-- name: sweep_dedup
with old as (
    select d.scope, d.key, d.until from waybill.dedup d where d.until <= $1::bigint
    order by d.until limit $2::bigint + 1 for update skip locked
), gone as (
    delete from waybill.dedup d using (select * from old order by until limit $2::bigint) o
    -- ("+ 0": by their key, never by their age, which all that is left over has, too.)
    where d.scope = o.scope and d.key = o.key and d.until + 0 <= $1::bigint
    returning 1
)
select (select count(*) from gone), (select count(*) from old) > $2::bigint;

-- name: health
select (select count(*) from waybill.open where not parked),
    (select count(*) from waybill.open where parked),
    (select count(*) from waybill.dead),
    waybill.clock() - (
        select min(m.appended_at) from waybill.partition p
        cross join lateral (
            select n.id from (
                (select o.id, o.sequence from waybill.low_water w
                cross join lateral unnest(w.still_open) as u (sequence)
                cross join lateral (
                    select * from waybill.open o where o.partition = p.id and o.parked = false
                        and o.sequence = u.sequence offset 0) o
                where w.partition = p.id and o.due <= waybill.clock())
                union all
                (select o.id, o.sequence from waybill.open o
                where o.partition = p.id and o.parked = false and o.due <= waybill.clock()
                    and o.sequence > coalesce((select w.through from waybill.low_water w
                        where w.partition = p.id), 0)
                order by o.sequence limit 1)) n
            order by n.sequence limit 1) o
        join waybill.message m on m.id = o.id),
    current_setting('server_version') || ', database ' || current_database();

-- name: settings
select name, setting from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names',
    'server_encoding', 'server_version_num', 'data_sync_retry')
union all
select 'in_recovery', pg_is_in_recovery()::text;

-- ---- notes ----------------------------------------------------------------------------------------

-- name: note
select text from waybill.note where name = $1::text and (until is null or until > waybill.clock());

-- name: notes
-- The names are in the order of their bytes, so that their index has those with one beginning together.
select name, text from waybill.note
where name ^@ $1::text and (until is null or until > waybill.clock()) order by name;

-- name: keep_note
insert into waybill.note (name, text, until) values ($1::text, $2::text, $3::bigint)
on conflict (name) do update set text = excluded.text, until = excluded.until;

-- name: drop_note
delete from waybill.note where name = $1::text;

-- name: drop_old_notes
-- A few with each that is written, so that they never pile up.
delete from waybill.note where name in (
    select name from waybill.note where until <= waybill.clock() order by until limit 10
    for update skip locked);

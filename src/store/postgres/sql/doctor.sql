-- What `waybill doctor` asks. Each statement stands alone: the schema may be missing or older, and the role
-- may see little. $1 is the name of the schema wherever a catalogue is searched by it.

-- name: doctor_server
select current_setting('server_version_num')::integer, pg_is_in_recovery(),
    current_database()::text, current_user::text, pg_has_role('pg_read_all_stats', 'usage'),
    (select coalesce(sum(numbackends), 0)::bigint from pg_stat_database),
    current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint,
    (select count(*) from pg_stat_replication),
    (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'));

-- name: doctor_settings
-- As a session begins: ours has changed some.
select name, coalesce(reset_val, ''), source from pg_settings where name in (
    'fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names',
    'data_sync_retry', 'server_encoding', 'autovacuum', 'track_counts',
    'default_transaction_read_only', 'idle_in_transaction_session_timeout');

-- name: doctor_sessions
-- Open for longer than $2 microseconds, the oldest first. What holds a lock for writing on one of our
-- tables has published or settled.
select a.pid, coalesce(a.usename, '')::text, coalesce(a.application_name, ''),
    coalesce(a.state, ''), (extract(epoch from clock_timestamp() - a.xact_start) * 1000000)::bigint,
    coalesce(to_char(a.query_start, 'YYYY-MM-DD HH24:MI:SS TZ'), ''),
    greatest(age(a.backend_xmin), age(a.backend_xid))::bigint,
    exists (select from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = a.pid and l.locktype = 'relation' and l.mode = 'RowExclusiveLock'
            and c.relnamespace = to_regnamespace($1::text)),
    left(coalesce(a.query, ''), 200)
from pg_stat_activity a
where a.pid <> pg_backend_pid() and a.datname = current_database()
    and clock_timestamp() - a.xact_start >= $2::bigint * interval '1 microsecond'
order by a.xact_start limit 20;

-- name: doctor_blockers
-- Who holds what a session of ours waits for, for longer than $1 microseconds; not ourselves.
select h.pid, coalesce(h.usename, '')::text, coalesce(h.application_name, ''),
    coalesce(h.state, ''),
    coalesce((extract(epoch from clock_timestamp() - h.xact_start) * 1000000)::bigint, 0),
    coalesce(to_char(h.query_start, 'YYYY-MM-DD HH24:MI:SS TZ'), ''),
    left(coalesce(h.query, ''), 200), count(distinct w.pid)
from pg_stat_activity w
cross join lateral unnest(pg_blocking_pids(w.pid)) as b (pid)
join pg_stat_activity h on h.pid = b.pid
where w.datname = current_database() and w.application_name = 'waybill'
    and h.application_name <> 'waybill'
    -- Of another role not everybody is told since when.
    and coalesce(clock_timestamp() - h.xact_start >= $1::bigint * interval '1 microsecond', true)
group by h.pid, h.usename, h.application_name, h.state, h.xact_start, h.query_start, h.query
order by h.xact_start limit 20;

-- name: doctor_slots
select slot_name::text, active, age(xmin)::bigint,
    coalesce(case when pg_is_in_recovery() then 0
        else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end, 0)::bigint
from pg_replication_slots order by slot_name limit 20;

-- name: doctor_prepared
select gid, owner::text, (extract(epoch from clock_timestamp() - prepared) * 1000000)::bigint,
    age(transaction)::bigint
from pg_prepared_xacts where database = current_database() order by prepared limit 20;

-- name: doctor_has_schema
-- And whether we may make it, or change it.
select n.oid is not null,
    case when n.oid is null then has_database_privilege(current_database(), 'create')
        when to_regclass(format('%I.migration', $1::text)) is null
            then has_schema_privilege(n.oid, 'create')
        else pg_has_role(n.nspowner, 'usage') end
from (select 1) one left join pg_namespace n on n.nspname = $1::text;

-- name: doctor_has_role
select exists (select from pg_roles where rolname = $1::text);

-- name: doctor_lacks
-- What the role $2 needs as a server: to use the schema, to use and read its sequences (how far they were drawn moves the
-- low-water marks), to read and write its tables, to execute its functions. Children of a table are reached through it.
-- The list of migrations is only read.
select 'schema', $1::text, 'usage' where not has_schema_privilege($2::text, $1::text, 'usage')
union all
select 'table', c.relname::text, lower(p.name)
from pg_class c cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as p (name)
where c.relnamespace = to_regnamespace($1::text) and c.relkind in ('r', 'p')
    and not c.relispartition and (c.relname <> 'migration' or p.name = 'SELECT')
    and not has_table_privilege($2::text, c.oid, p.name)
union all
select 'sequence', c.relname::text, lower(p.name)
from pg_class c cross join unnest(array['USAGE', 'SELECT']) as p (name)
where c.relnamespace = to_regnamespace($1::text)
    -- Asked of anything else it fails.
    and case when c.relkind = 'S' then not has_sequence_privilege($2::text, c.oid, p.name) end
union all
-- (As text of its own: a regprocedure leaves the schema out where the search path has it.)
select 'function', format('%I.%I(%s)', $1::text, p.proname, oidvectortypes(p.proargtypes)),
    'execute'
from pg_proc p
where p.pronamespace = to_regnamespace($1::text) and p.proname not in ('publish', 'publish_many', 'guard')
    and not has_function_privilege($2::text, p.oid, 'execute')
order by 1, 2, 3;

-- name: doctor_publisher_lacks
-- What a role needs that publishes by SQL.
select 'schema', $1::text, 'usage' where not has_schema_privilege($2::text, $1::text, 'usage')
union all
-- (As text of its own: a regprocedure leaves the schema out where the search path has it.)
select 'function', format('%I.%I(%s)', $1::text, p.proname, oidvectortypes(p.proargtypes)),
    'execute'
from pg_proc p
where p.pronamespace = to_regnamespace($1::text) and p.proname in ('publish', 'publish_many')
    and not has_function_privilege($2::text, p.oid, 'execute')
order by 1, 2, 3;

-- name: doctor_listeners
select i.incarnation, i.listener, i.knows,
    exists (select from pg_stat_activity a where a.pid = i.listener)
from waybill.instance i;

-- name: doctor_partitions
select count(*) from waybill.partition p left join waybill.instance i on i.incarnation = p.owner
where p.owner <> '00000000-0000-0000-0000-000000000000'
    and not coalesce(waybill.is_alive(i, waybill.clock()), false);

-- name: doctor_days
-- Of today and tomorrow, those without a table of their own.
select waybill.day_name(day) from (select waybill.clock() / 86400000000 as today) t,
    generate_series(today, today + 1) day
where to_regclass('waybill.finished_' || waybill.day_name(day)) is null
order by 1;

-- name: doctor_tables
-- From how many dead rows on autovacuum comes: as the table says, else as the server does.
select c.relname::text, coalesce(s.n_live_tup, 0)::bigint, coalesce(s.n_dead_tup, 0)::bigint,
    (coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::float8)
        + coalesce(o.scale, current_setting('autovacuum_vacuum_scale_factor')::float8)
            * greatest(c.reltuples, 0))::bigint,
    coalesce(o.enabled, true), pg_table_size(c.oid), pg_indexes_size(c.oid),
    case when c.relkind = 'r' then age(c.relfrozenxid) else 0 end::bigint
from pg_class c
left join pg_stat_all_tables s on s.relid = c.oid
cross join lateral (
    select max(option_value) filter (where option_name = 'autovacuum_vacuum_threshold')::float8,
        max(option_value) filter (where option_name = 'autovacuum_vacuum_scale_factor')::float8,
        bool_and(option_value in ('true', 'on', '1'))
            filter (where option_name = 'autovacuum_enabled')
    from pg_options_to_table(c.reloptions)) as o (threshold, scale, enabled)
where c.relnamespace = to_regnamespace($1::text) and c.relkind = 'r'
order by c.relname;

-- name: doctor_clock
select (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- name: doctor_store_clock
select waybill.clock();

-- name: doctor_backend
select pg_backend_pid();

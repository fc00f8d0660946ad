-- What a later version may do to the schema while this one runs: it adds, and changes nothing that is
-- there. The tests apply it under load (two_versions_test.cpp). src/store/postgres/sql/migrations/README.md
-- has the rules.

-- Columns that may be null, or have a default: who does not know them does not name them.
alter table waybill.message add column priority smallint;
alter table waybill.open add column shade text;
alter table waybill.instance add column zone text not null default 'here';
alter table waybill.box add column owner_team text;
alter table waybill.dead add column ticket text;
alter table waybill.attempt add column host text;
alter table waybill.dedup add column seen_from text;

-- Tables and indexes of its own.
create table waybill.route (name text primary key, target text not null);
create index message_priority on waybill.message (priority) where priority is not null;

-- A function that can do more is another function; the old one stays as it is.
create function waybill.publish_by_priority(
    type text, body bytea, box text, lane text, priority smallint)
returns uuid
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
declare
    published uuid;
begin
    published := waybill.publish(type => $1, body => $2, box => $3, lane => $4);
    update waybill.message m set priority = $5 where m.id = published;
    return published;
end
$function$;

insert into waybill.migration (number, name, checksum) values (1000, 'priorities', 'of a later version');

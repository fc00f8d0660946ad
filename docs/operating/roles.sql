-- Roles for a store in PostgreSQL, to be run by a superuser in the database of the store. The tests run
-- this file and try each role (tests/postgres/roles_test.cpp).

-- [owner]
-- Owns the schema and everything in it. `waybill migrate` runs as waybill_migrator; nobody else may change a table.
create role waybill_owner nologin;
create role waybill_migrator login in role waybill_owner;
alter role waybill_migrator set role = 'waybill_owner';
create schema waybill authorization waybill_owner;
-- [/owner]

-- [server]
-- `waybill serve` and programs that link the library: rows, no tables. Run after the first migrate; what later
-- migrations add it may use at once.
create role waybill_server login;
grant usage on schema waybill to waybill_server;
grant select, insert, update, delete on all tables in schema waybill to waybill_server;
grant usage, select on all sequences in schema waybill to waybill_server;
grant execute on all functions in schema waybill to waybill_server;
alter default privileges for role waybill_owner in schema waybill
    grant select, insert, update, delete on tables to waybill_server;
alter default privileges for role waybill_owner in schema waybill
    grant usage, select on sequences to waybill_server;
alter default privileges for role waybill_owner in schema waybill
    grant execute on functions to waybill_server;
-- For `waybill doctor`, to see the transactions of others.
grant pg_read_all_stats to waybill_server;
-- [/server]

-- [publisher]
-- Any application, in any language: publishes in its own transactions and sees nothing. A transaction that it
-- forgets is ended.
create role shop login;
grant usage on schema waybill to shop;
grant execute on function waybill.publish, waybill.publish_many to shop;
alter role shop set idle_in_transaction_session_timeout = '1min';
-- [/publisher]

-- [consumer]
-- An application that consumes from elsewhere and guards its own writes by waybill.guard(…), and no more.
create role ledger login;
grant usage on schema waybill to ledger;
grant execute on function waybill.guard to ledger;
-- [/consumer]

-- [reader]
-- People and dashboards: `waybill messages`, `dead list`, `stats`, `doctor`. Bodies of messages included.
create role waybill_reader login;
grant usage on schema waybill to waybill_reader;
grant select on all tables in schema waybill to waybill_reader;
alter default privileges for role waybill_owner in schema waybill
    grant select on tables to waybill_reader;
grant pg_read_all_stats to waybill_reader;
-- [/reader]

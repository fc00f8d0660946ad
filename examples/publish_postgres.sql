-- Publish from psql, and from every language that sends SQL.

-- [publish_sql]
begin;
insert into orders default values;
select waybill.publish(type => 'order.placed', body => convert_to('{"customer": "ada"}', 'UTF8'), lane => 'ada');
commit;
-- [/publish_sql]

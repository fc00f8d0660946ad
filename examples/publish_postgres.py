"""Publish from Python: the order and its announcement in one commit."""

import json
import os

import psycopg2

connection = psycopg2.connect(os.environ["WAYBILL_POSTGRES"])
# [publish_python]
with connection, connection.cursor() as cursor:
    cursor.execute("insert into orders default values")
    cursor.execute("select waybill.publish(type => %s, body => %s, lane => %s)",
                   ("order.placed", json.dumps({"customer": "bob"}).encode(), "bob"))
# [/publish_python]

-- The time zone in which months begin and end in the views.
CREATE OR REPLACE MACRO time_zone() AS 'UTC'

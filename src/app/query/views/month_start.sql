-- The instant at which a month, as YYYY-MM, begins in time_zone().
CREATE OR REPLACE MACRO month_start(month) AS timezone(time_zone(), CAST(month || '-01' AS TIMESTAMP))

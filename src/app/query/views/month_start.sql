-- The instant at which a month, as YYYY-MM, begins in time_zone().
--
-- It follows the last microsecond of the month before: midnight itself comes twice or never where clocks change then.
CREATE OR REPLACE MACRO month_start(month) AS
  timezone(time_zone(), CAST(month || '-01' AS TIMESTAMP) - INTERVAL 1 MICROSECOND) + INTERVAL 1 MICROSECOND

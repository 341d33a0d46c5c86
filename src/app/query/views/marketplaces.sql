-- One row for each marketplace: marketplace_id, name, the two letters of its country, its currency, and the time zone of its days.
FROM (VALUES
  $marketplaces
) AS marketplaces_(marketplace_id, name, country, currency, time_zone)

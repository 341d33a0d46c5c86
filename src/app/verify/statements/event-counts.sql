-- One row: the number of events and transactions, and of the dated ones among v0's events by date.
SELECT count(*) AS events, count(*) FILTER (tab = 'events' AND dated) AS dated
FROM seen

-- One row for each settlement of `compared` that is alone and in whose time and currency events were read by date that no group has
-- as often.
--
-- file, id: the least file and id of such content; events: number of them.
WITH wanted AS (
  SELECT account, content, currency, instant, count(*) AS times, min(file) AS file, min(id) AS id
  FROM seen
  WHERE tab = 'events' AND dated AND inside
  GROUP BY account, content, currency, instant
), stored AS (
  SELECT account, content, count(*) AS times
  FROM seen
  WHERE tab = 'group_events'
  GROUP BY account, content
), lacking AS (
  SELECT wanted.*, wanted.times - coalesce(stored.times, 0) AS more
  FROM wanted LEFT JOIN stored USING (account, content)
  WHERE wanted.times > coalesce(stored.times, 0)
)
SELECT compared.account, compared.group_id, min(lacking.file) AS file, min(lacking.id) AS id, sum(lacking.more) AS events
FROM lacking JOIN compared ON compared.account = lacking.account AND compared.currency = lacking.currency
  AND lacking.instant >= compared.starts AND lacking.instant < compared.ends
WHERE compared.alone
GROUP BY compared.account, compared.group_id
ORDER BY compared.account, compared.group_id

-- The rows that `added` and `removed` don't have equally often, as often as they differ: `_change_type` (`insert`, `delete`) and the
-- columns of both. NULLs are equal.
SELECT if(difference_ > 0, 'insert', 'delete') AS _change_type, differing_.* EXCLUDE (difference_)
FROM
  (
    SELECT * EXCLUDE (sign_), CAST(sum(sign_) AS BIGINT) AS difference_
    FROM (SELECT *, 1 AS sign_ FROM added UNION ALL SELECT *, -1 AS sign_ FROM removed)
    GROUP BY ALL
    HAVING sum(sign_) <> 0
  ) AS differing_,
  range(abs(difference_))

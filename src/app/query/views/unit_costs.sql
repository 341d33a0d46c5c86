-- One row for each cost of a unit: sku, the first day on which it is valid in time_zone() (valid_from), unit_cost and its currency. It
-- is valid until the next one of the SKU and the currency. The rows are those of the setting `costs`; without it there are none.
SELECT CAST(NULL AS VARCHAR) AS sku, CAST(NULL AS DATE) AS valid_from, CAST(NULL AS DECIMAL(18,6)) AS unit_cost,
  CAST(NULL AS VARCHAR) AS currency
WHERE false

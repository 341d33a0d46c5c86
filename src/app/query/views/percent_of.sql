-- What a part is of each 100 of a whole, rounded to a decimal; null where the whole is 0.
CREATE OR REPLACE MACRO percent_of(part, whole) AS TRY_CAST(100 * (part / nullif(whole, 0)) AS DECIMAL(18,1))

-- The value of a group whose rows have the same one, apart from nulls; null where they have several.
CREATE OR REPLACE MACRO only_value(value) AS CASE WHEN min(value) = max(value) THEN min(value) END

-- One row for each column of a view, with its type, and for each parameter of a macro: name, column or parameter, type.
SELECT table_name AS name, column_name AS part, data_type AS type
FROM (SELECT * FROM information_schema.columns ORDER BY table_name, ordinal_position)
UNION ALL
SELECT function_name, unnest(parameters), NULL FROM duckdb_functions() WHERE NOT internal

-- The month of an instant in time_zone(), as YYYY-MM.
CREATE OR REPLACE MACRO month_of(instant) AS strftime(timezone(time_zone(), instant), '%Y-%m')

/** Texts that an id, a name or an SKU may be, by what they attack. JSON can hold each of them. */
export const hostileTexts: Readonly<Record<string, readonly string[]>> = {
  'right to left': ['\u202eTXT.EXE', 'a\u2066b\u2069', '\u05d0\u05d1\u05d2 12', 'a\u200fb', '\u061c1'],
  invisible: ['\u200b', 'a\u200bb', '\u2060', '\u00ad', 'a\ufeffb', '\ufeff', '\u180e', '\u{e0041}\u{e0042}', '\ufff9a\ufffab\ufffb'],
  combining: ['e\u0301', `Z${'\u0300'.repeat(500)}`, '\u0300', '👩‍👩‍👧', '🏴\u{e0067}\u{e0062}\u{e007f}', '\u1100\u1161\u11a8'],
  formulas: ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '=cmd|"/C calc"!A1', '"=1"', "'=1", ' =1', '\uff1d1', 'a;=1'],
  'escapes of terminals': ['\u001b[2J', '\u001b]0;x\u0007', '\u009b31m', '\u001bP1;1|\u001b\\', '\b\b\b', '\r', 'a\nledgerlake: FORGED', '\u0085x', '\u2028x'],
  markup: ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '&lt;b&gt;', ']]>', '<!--', '${x}', '{{7*7}}', '</style>', 'javascript:alert(1)'],
  quotes: ["'", '"', '`', '\\', "\\'", "'; DROP TABLE events; --", '$$', '$1', ':name', '/*', '%s', 'a,b', 'a;b', 'a|b', 'a\tb'],
  emptiness: ['', ' ', '  a  ', '\0', 'a\0b', '\u00a0', 'null', 'NULL', 'NaN', 'true', '0', '1e5', '007', '2024-01-01', '__proto__', 'constructor'],
  'names of files and the shell': ['.', '..', '../x', '/etc/passwd', 'C:\\x', 'a/b', 'con', '~', '$HOME', '$(id)', '`id`', '*', '-rf', '--help', 'a b', '%00', '%2e%2e', 'x=1', 'account=x', 'month=2024-01'],
  long: ['x'.repeat(1024 * 1024), '\u001b'.repeat(5000), '😀'.repeat(5000), 'a '.repeat(5000)],
  surrogates: ['\ud800', 'a\udc00', '\udc00\ud800', '\uffff', '\ufffe', '\u{10ffff}', '\u{1f600}'],
}; // prettier-ignore

export const everyHostileText: readonly string[] = Object.values(hostileTexts).flat();

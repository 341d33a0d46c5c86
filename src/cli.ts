#!/usr/bin/env node
// No import and no syntax that an older Node lacks: it would end in a stack trace before the first line here.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 20 || (major === 20 && minor >= 19)) {
  void import('./cli/start.js');
} else {
  process.stderr.write(
    `ledgerlake: USAGE: expected Node 20.19 or newer, got ${process.versions.node}; install one from https://nodejs.org\n`,
  );
  process.exitCode = 2;
}

// A backup behind the nightly run: copies what is new, and on Sundays verifies the backup.
//
//   node nightly-backup.mjs DESTINATION [LAKE [verify]]
//
// DESTINATION is a folder, or s3://BUCKET/PREFIX. With the word `verify` the backup is verified whatever the day.
import { backup, LedgerlakeError, openLake } from 'ledgerlake';

const [destination = '', lake = 'data/lake', word] = process.argv.slice(2);
try {
  const { catalog, files, copied, removed } = await backup(destination, { lake });
  console.log(`version ${catalog.version}: ${files} files, ${copied.files} copied, ${removed.files} removed`);
  if (word === 'verify' || new Date().getUTCDay() === 0) {
    const copy = await openLake(destination);
    const { verdict, catalog: verified } = await copy.verify();
    await copy.close();
    console.log(`the backup is ${verdict}, with the chain of the lake: ${verified?.hash === catalog.hash}`);
    if (verdict === 'broken') process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof LedgerlakeError)) throw error;
  // The backup has the version before, and the next call continues.
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = error.exitCode;
}

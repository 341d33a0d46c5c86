import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';

const client = new S3Client({ forcePathStyle: true });
await client.send(new CreateBucketCommand({ Bucket: process.env.LEDGERLAKE_S3_BUCKET }));
client.destroy();

#!/bin/sh
# Runs the store's contract against a real S3 service: a one-node Ceph cluster with its RADOS gateway, from Debian's
# own packages, in memory, on loopback, gone again afterwards.
#
#   test/s3-real/run.sh               the tests in test/s3-real
#   test/s3-real/run.sh COMMAND...    any other command, with AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID,
#                                     AWS_SECRET_ACCESS_KEY and LEDGERLAKE_S3_BUCKET set for it, and the keys
#                                     LEDGERLAKE_S3_GUEST_ID and LEDGERLAKE_S3_GUEST_SECRET of a user without a bucket
#
# Prints that it is skipped and exits 0 where the packages aren't there and can't be installed.
set -eu
cd "$(dirname "$0")/../.."

skip() {
  echo "test-s3: skipped: $1"
  exit 0
}

complete() {
  for program in ceph ceph-authtool ceph-mon ceph-osd monmaptool radosgw radosgw-admin; do
    command -v "$program" >/dev/null || return 1
  done
}

if ! complete; then
  [ "$(id -u)" = 0 ] || skip "the Ceph packages are missing and installing them needs root"
  command -v apt-get >/dev/null || skip "the Ceph packages are missing and there is no apt-get"
  echo "test-s3: installing the RADOS gateway"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ceph-mon ceph-osd radosgw; } \
    >/dev/null 2>&1 || skip "the packages ceph-mon, ceph-osd and radosgw can't be installed"
  complete || skip "the packages are installed but their programs are not on PATH"
fi

# Sockets below this folder: their whole path must stay under 108 characters, so not below a long TMPDIR.
folder=$(mktemp -d /tmp/ledgerlake-s3.XXXXXX)
pids=''
command=''
finish() {
  status=$?
  trap - EXIT INT TERM
  if [ -n "$command" ]; then
    kill "$command" 2>/dev/null || true
    wait "$command" 2>/dev/null || true
  fi
  # Nothing in the cluster outlives it, so nothing is gained by asking it politely.
  for pid in $pids; do
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$folder"
  if [ $status = 0 ]; then echo 'test-s3: passed'; else echo "test-s3: failed ($status)"; fi
  exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "test-s3: $1; the last lines of its log:" >&2
  tail -n 20 "$folder"/*.log >&2 || true
  exit 1
}

# Waits until a command succeeds, 60 seconds at most.
await() {
  what=$1
  shift
  began=$(date +%s)
  until "$@" >/dev/null 2>&1; do
    [ $(($(date +%s) - began)) -lt 60 ] || fail "$what does not come up"
    sleep 0.2
  done
}

free_port() {
  node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })"
}

monitor=$(free_port)
gateway=$(free_port)
fsid=$(cat /proc/sys/kernel/random/uuid)
cat >"$folder/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$monitor]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $folder/keyring
run dir = $folder
admin socket = $folder/\$name.asok
log file = $folder/\$name.log
pid file =
mon data = $folder/mon
mon allow pool size one = true
mon warn on pool no redundancy = false
mon osd crush smoke test = false
osd data = $folder/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
rgw data = $folder/rgw
rgw frontends = beast endpoint=127.0.0.1:$gateway
rgw enable usage log = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw run sync thread = false
CONF
export CEPH_CONF="$folder/ceph.conf"
mkdir "$folder/mon" "$folder/osd" "$folder/rgw"

monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$monitor]" "$folder/monmap" >/dev/null
for name in mon. client.admin osd.0; do
  ceph-authtool "$folder/keyring" $([ -e "$folder/keyring" ] || echo --create-keyring) --gen-key -n $name \
    --cap mon 'allow *' --cap osd 'allow *' >/dev/null
done
ceph-mon --mkfs -i a --keyring "$folder/keyring" --monmap "$folder/monmap" >"$folder/start.log" 2>&1 || fail 'the monitor was not made'
ceph-mon -f -i a >"$folder/mon.log" 2>&1 &
pids="$! $pids"
await 'the monitor' ceph --connect-timeout 2 mon stat

osd=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$osd" >/dev/null
ceph-osd -i 0 --mkfs --osd-uuid "$osd" >>"$folder/start.log" 2>&1 || fail 'the disk was not made'
ceph-osd -f -i 0 >"$folder/osd.log" 2>&1 &
pids="$! $pids"
await 'the disk' sh -c 'ceph osd stat | grep -q "1 up"'

radosgw -f -n client.admin >"$folder/gateway.log" 2>&1 &
pids="$! $pids"
await 'the gateway' node -e "fetch('http://127.0.0.1:$gateway').catch(() => process.exit(1))"

# Made up here, good for this cluster only, and gone with it.
AWS_ACCESS_KEY_ID=ledgerlake
AWS_SECRET_ACCESS_KEY=$fsid
radosgw-admin user create --uid=ledgerlake --display-name=Ledgerlake --access-key="$AWS_ACCESS_KEY_ID" \
  --secret-key="$AWS_SECRET_ACCESS_KEY" >"$folder/user.log" 2>&1 || fail 'the user was not made'
LEDGERLAKE_S3_GUEST_ID=guest
LEDGERLAKE_S3_GUEST_SECRET=$osd
radosgw-admin user create --uid=guest --display-name=Guest --access-key="$LEDGERLAKE_S3_GUEST_ID" \
  --secret-key="$LEDGERLAKE_S3_GUEST_SECRET" >>"$folder/user.log" 2>&1 || fail 'the second user was not made'
AWS_ENDPOINT_URL_S3=http://127.0.0.1:$gateway
AWS_REGION=us-east-1
AWS_EC2_METADATA_DISABLED=true
LEDGERLAKE_S3_BUCKET=ledgerlake-test
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL_S3 AWS_REGION AWS_EC2_METADATA_DISABLED LEDGERLAKE_S3_BUCKET
export LEDGERLAKE_S3_GUEST_ID LEDGERLAKE_S3_GUEST_SECRET
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL 2>/dev/null || true
AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED=true node test/s3-real/make-bucket.mjs || fail 'the bucket was not made'
echo "test-s3: $(ceph --version | cut -d' ' -f1-3), gateway at $AWS_ENDPOINT_URL_S3"

if [ $# = 0 ]; then set -- npx vitest run --config test/s3-real/vitest.config.ts; fi
# In the background, for a shell that waits for a program in the foreground doesn't hear that it is to end.
"$@" &
command=$!
wait "$command"

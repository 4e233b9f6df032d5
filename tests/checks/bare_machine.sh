#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bare_machine.sh FOLDER COMMANDS: runs shell commands in a clone of this repository on a Debian 12 with only its base packages.
# A command that passes where everything is installed may still fail for a newcomer. Needs root.
#
# FOLDER/base.tar is made once, by mmdebstrap in 20 s. FOLDER/root is unpacked anew each time, without anything that an earlier
# command installed. Mounts are private to this process and its children, and end with them.
set -euo pipefail
folder=$(realpath -m "$1") commands=$2
if [[ -z ${CAIRN_OWN_MOUNTS:-} ]]; then
  CAIRN_OWN_MOUNTS=yes exec unshare --mount --propagation private bash "$(realpath "$0")" "$folder" "$commands"
fi
unset CAIRN_OWN_MOUNTS

mkdir -p "$folder"
if [[ ! -s $folder/base.tar ]]; then
  command -v mmdebstrap > /dev/null || apt-get install -y --no-install-recommends mmdebstrap
  sources=/etc/apt/sources.list.d/debian.sources # the mirror of this machine
  [[ -e $sources ]] || sources=
  mmdebstrap --quiet --variant=minbase --include=ca-certificates --format=tar bookworm "$folder/base.part" $sources
  mv "$folder/base.part" "$folder/base.tar"
fi

root=$folder/root
rm -rf --one-file-system "$root"
mkdir "$root"
tar -C "$root" -xf "$folder/base.tar"
cp /etc/resolv.conf /etc/hosts "$root/etc/" # without the machine's own name each mpirun waits ten seconds
git clone -q "$(dirname "$(realpath "$0")")/../.." "$root/project"
for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
cd /
HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$root" /bin/bash -e -c "cd /project
$commands"

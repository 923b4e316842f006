#!/bin/bash
# certificates.sh FOLDER HOST...: makes an authority of your own, and two certificates of it. One is for the server of a job
# queue with these names and addresses, one for the processes of a run. Keep authority.key secret.
set -euo pipefail
if (($# < 2)); then
    echo "usage: $0 FOLDER HOST..." >&2
    exit 2
fi
umask 077
mkdir -p "$1"
cd "$1"
shift
names=
for host in "$@"; do
    kind=DNS
    [[ $host == *:* || $host =~ ^[0-9.]+$ ]] && kind=IP
    names+=${names:+,}$kind:$host
done
make() { # <name> <openssl argument>...
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=pilfer $1" \
        -config <(printf '[req]\ndistinguished_name = dn\n[dn]\n') -keyout "$1.key" -out "$1.pem" "${@:2}" 2>/dev/null
}
make authority -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
for name in server process; do
    use=clientAuth
    more=()
    [[ $name == server ]] && use=serverAuth && more=(-addext "subjectAltName=$names")
    make "$name" -CA authority.pem -CAkey authority.key -addext basicConstraints=critical,CA:FALSE \
        -addext "extendedKeyUsage=$use" "${more[@]}"
done
echo "$PWD: authority.pem, server.pem, server.key, process.pem, process.key"

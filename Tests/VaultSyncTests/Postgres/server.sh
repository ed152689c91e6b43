#!/bin/sh
# Runs a PostgreSQL server in a test's directory, until its input ends.
#   server.sh BINARIES DIRECTORY PORT
# The server speaks TLS as localhost, with the authority ca.pem; other.pem is another authority. Its input has lines
# `kill`, `start` and `sql DATABASE FILE`, each of which is answered by one line.
set -eu
bin=$1 dir=$2 port=$3
cd "$dir"
umask 077

start() {
    # The children of a killed server have to end before another server starts.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        "$bin/pg_ctl" -D data -w -t 300 -l server.log start >>log 2>&1 </dev/null && return
    done
    return 1
}
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=authority $1" \
        -keyout "$1.key" -out "$1.pem"
}
finish() {
    "$bin/pg_ctl" -D data -m immediate -w -t 300 stop >>log 2>&1 || :
    cd / && rm -rf "$dir"
}
trap finish EXIT

{
    authority ca
    authority other
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key \
        -out server.csr
    echo subjectAltName=DNS:localhost >names
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out server.pem
    "$bin/initdb" -D data -N -A trust -U postgres --no-locale -E UTF8
} >>log 2>&1 </dev/null
cat >>data/postgresql.conf <<END
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$dir'
ssl = on
ssl_cert_file = '$dir/server.pem'
ssl_key_file = '$dir/server.key'
shared_buffers = 16MB
max_connections = 60
END
cat >data/pg_hba.conf <<END
local all all trust
host all all 127.0.0.1/32 scram-sha-256
END
start
echo started

while read -r command database file; do
    case $command in
    kill)
        # Kills all processes, like a power cut. A process that was not reaped keeps its number, and files with that
        # number prevent a server's start.
        postmaster=$(head -n 1 data/postmaster.pid)
        pkill -KILL -P "$postmaster" || :
        kill -KILL "$postmaster" && rm -f data/postmaster.pid .s.PGSQL.* && echo done
        ;;
    start) if start; then echo done; else echo failed; fi ;;
    sql)
        if "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$dir" -p "$port" -U postgres -d "$database" -f "$file" >>log 2>&1
        then echo done; else echo failed; fi
        ;;
    esac
done

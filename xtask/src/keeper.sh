# Stops throw-away servers and removes their folder ($1) once xtask has gone, however it went.
#
# xtask holds the other end of our input: it writes the process id of the command it waits for, and an empty
# line when that command has ended. The end of input means that xtask has ended, been interrupted or been killed.
trap '' INT TERM HUP

command=
while read -r line; do
    command=$line
done

# Waits while the rest of the words hold, at most $1 tenths of a second.
wait_while() {
    tries=$1
    shift
    while [ "$tries" -gt 0 ] && "$@" 2>/dev/null; do
        sleep 0.1
        tries=$((tries - 1))
    done
}

# The command first, so that tests in the middle do not fail for want of a server. After a ctrl-c it is ending
# already, and would take another signal for impatience.
if [ -n "$command" ]; then
    wait_while 20 kill -0 "$command"
    kill -TERM "$command" 2>/dev/null && wait_while 100 kill -0 "$command"
fi

# SIGQUIT is PostgreSQL's immediate shutdown: nothing here is worth a checkpoint.
pid_file=$1/data/postmaster.pid
if [ -f "$pid_file" ]; then
    kill -QUIT "$(head -n 1 "$pid_file")" 2>/dev/null && wait_while 100 [ -f "$pid_file" ]
fi

# Other servers leave their process ids; nothing here is worth a farewell either.
for pid_file in "$1"/*.pid; do
    if [ -f "$pid_file" ]; then
        kill -KILL "$(head -n 1 "$pid_file")" 2>/dev/null
    fi
done
# A last write may still arrive while the folder goes.
rm -rf "$1" || { sleep 0.5; rm -rf "$1"; }

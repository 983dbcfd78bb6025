#!/bin/sh
# Run from the project's folder. Says every difference, and ends with 1 when there was one.
failed=0

expect() { # WHAT EXPECTED GOT
    if [ "$2" = "$3" ]; then
        echo "ok   $1"
    else
        echo "FAIL $1: expected '$2', got '$3'"
        failed=1
    fi
}

expect "one name" "Hello, Ada!" "$(sh bin/greet Ada)"
expect "two names" "Hello, Ada!
Hello, Grace!" "$(sh bin/greet Ada Grace)"
expect "loud" "HELLO, ADA!" "$(sh bin/greet --loud Ada)"

exit $failed

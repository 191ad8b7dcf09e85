# fish completion for xfer

set -l no_command 'not __fish_seen_subcommand_from send recv help'
set -l both '__fish_seen_subcommand_from send recv'
set -l send '__fish_seen_subcommand_from send'
set -l recv '__fish_seen_subcommand_from recv'

complete -c xfer -n $no_command -f -a send -d 'Send files'
complete -c xfer -n $no_command -f -a recv -d 'Receive files'
complete -c xfer -n $no_command -f -a help -d 'Show help'
complete -c xfer -n $no_command -f -l version -d 'Show the version'
complete -c xfer -n '__fish_seen_subcommand_from help' -f -a 'send recv'

complete -c xfer -n $both -l plain -d 'Unprotected mode (required)'
complete -c xfer -n $both -l mss -x -d 'Largest IP packet'
complete -c xfer -n $both -l window -x -d 'Receive buffer, or most data in flight'
complete -c xfer -n $both -l socket-buffer -x -d 'UDP socket buffers to ask for'
complete -c xfer -n $both -l timeout -x -d 'Give up after this silence'
complete -c xfer -n $both -s 4 -l ipv4 -d 'Use IPv4 only'
complete -c xfer -n $both -s 6 -l ipv6 -d 'Use IPv6 only'
complete -c xfer -n $both -s q -l quiet -d 'Print errors only'
complete -c xfer -n $both -s v -l verbose -d 'Print a line for each file'
complete -c xfer -n $both -l json -d 'Print JSON objects'
complete -c xfer -n $both -l config -r -F -d 'Read options from a file'
complete -c xfer -n $both -s h -l help -d 'Show the options'

complete -c xfer -n $both -l raw -d 'One bare byte stream'

complete -c xfer -n $send -l stdin-name -x -d 'Name of standard input at the receiver'
complete -c xfer -n $send -l connect-timeout -x -d 'How long connecting may take'
complete -c xfer -n $send -l bind -x -d 'Local address to send from'
complete -c xfer -n $send -l max-rate -x -d 'Ceiling on the sending rate'
complete -c xfer -n $send -l cc -x -a 'udt fixed' -d 'Congestion control'

complete -c xfer -n $recv -l listen -x -d 'Address and port to listen at'
complete -c xfer -n $recv -l dir -x -a '(__fish_complete_directories)' -d 'Directory to receive into'
complete -c xfer -n $recv -l once -d 'Exit after the first sender'
complete -c xfer -n $recv -l fsync -x -a 'always never' -d 'When data is forced to disk'
complete -c xfer -n $recv -l max-sessions -x -d 'Senders served at the same time'

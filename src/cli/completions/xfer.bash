# bash completion for xfer

_xfer() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local common='--plain --mss --mtu --max-memory --window --socket-buffer --audt-recovery --no-gso --no-gro --no-batch
    --timeout -4 --ipv4 -6 --ipv6 -q --quiet -v --verbose --json --config -h --help'
  local send='--raw --stdin-name --connect-timeout --bind --max-rate --cc --dupack-threshold'
  local recv='--listen --dir --once --raw --fsync --fp --direct --preallocate --nak-repeat-threshold --max-sessions'
  COMPREPLY=()

  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'send recv help --version' -- "$cur")
    return
  fi
  case $prev in
    --cc) mapfile -t COMPREPLY < <(compgen -W 'auto udt bbr fixed' -- "$cur"); return ;;
    --audt-recovery) mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$cur"); return ;;
    --mtu) mapfile -t COMPREPLY < <(compgen -W 'auto' -- "$cur"); return ;;
    --fsync) mapfile -t COMPREPLY < <(compgen -W 'always never' -- "$cur"); return ;;
    --dir)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      return ;;
    --config) ;;
    --mss | --max-memory | --window | --socket-buffer | --dupack-threshold | --fp | --nak-repeat-threshold | \
      --timeout | --stdin-name | --connect-timeout | --bind | --max-rate | --listen | \
      --max-sessions) return ;;
    *)
      if [[ $cur == -* ]]; then
        case $command in
          send) mapfile -t COMPREPLY < <(compgen -W "$common $send" -- "$cur") ;;
          recv) mapfile -t COMPREPLY < <(compgen -W "$common $recv" -- "$cur") ;;
        esac
        return
      fi ;;
  esac
  if [[ $command == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'send recv' -- "$cur")
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -F _xfer xfer

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/profile"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// flags is one command's flag set, with what every command has.
type flags struct {
	*flag.FlagSet
	home string
	json bool
}

func newFlags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("papaver "+name, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // we say it ourselves
	f.StringVar(&f.home, "home", "", "the folder of keys, ledger and sockets (`DIR`)")
	f.BoolVar(&f.json, "json", false, "one JSON object a line on standard output")
	return f
}

// parse reads args, flags and words in any order, and checks the number of words. With -h it prints the command's help
// and returns an exit.
func (f *flags) parse(e env, args []string, least, most int) ([]string, error) {
	var words []string
	for {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			f.help(e.stdout)
			return nil, exitCode(exitDone)
		} else if err != nil {
			return nil, usagef("%v; %s -h lists the flags", err, f.Name())
		}
		if f.NArg() == 0 {
			break
		}
		words, args = append(words, f.Arg(0)), f.Args()[1:]
	}
	switch {
	case len(words) < least:
		return nil, usagef("%s: something is missing; %s -h tells", f.Name(), f.Name())
	case len(words) > most:
		return nil, usagef("%s: %q is too much; %s -h tells", f.Name(), words[most], f.Name())
	}
	return words, nil
}

func (f *flags) help(w io.Writer) {
	name := strings.TrimPrefix(f.Name(), "papaver ")
	for _, c := range commands() {
		if c.name == strings.Fields(name)[0] {
			fmt.Fprintf(w, "usage: papaver %s\n\n%s\n\n", c.usage, c.about)
		}
	}
	f.SetOutput(w)
	f.PrintDefaults()
}

// homeDir is the folder to use.
func (f *flags) homeDir(e env) (string, error) {
	if f.home != "" {
		return f.home, nil
	}
	return home.Default(e.getenv)
}

// wayFlags are how named hosts are reached.
type wayFlags struct{ connectTo, cacerts list }

func (f *flags) addWay() *wayFlags {
	w := &wayFlags{}
	f.Var(&w.connectTo, "connect-to", "connect to ADDR:PORT when HOST:PORT is asked for (`HOST:PORT:ADDR:PORT`); may be repeated")
	f.Var(&w.cacerts, "cacert", "trust this PEM authority (`FILE`) for the hosts that --connect-to names; may be repeated")
	return w
}

// check finds a rule that is none, which is wrong usage. The files are looked at when they are used.
func (w *wayFlags) check() error {
	for _, rule := range w.connectTo {
		if _, err := reach.ParseRule(rule); err != nil {
			return usageError{err.Error()}
		}
	}
	return nil
}

// profileFlag is a forced version of the protocol; nil when none is.
type profileFlag struct{ forced *profile.Profile }

func (f *flags) addProfile(about string) *profileFlag {
	p := &profileFlag{}
	f.Func("profile", about, func(version string) error {
		forced, known := profile.Of(version)
		if !known {
			return fmt.Errorf("the versions spoken are %s", strings.Join(versions(), ", "))
		}
		p.forced = &forced
		return nil
	})
	return p
}

// onTerminal reports whether a person sits at the program.
func onTerminal(e env) bool { return isTerminal(e.stdin) && isTerminal(e.stdout) }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func isTerminalWriter(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f)
}

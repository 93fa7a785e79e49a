package papaver_test

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"
)

// decisions is the folder of decision records, and index the file in it that lists them.
const (
	decisions = "docs/decisions"
	index     = decisions + "/README.md"
)

func TestPapersKeepTheRulesOfTheHouse(t *testing.T) {
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]rule{
		"decisions are dated, have a status and are listed": {
			reason: "a decision is found by its day and its name, and says whether it still holds",
			check:  badDecisions,
			broken: fstest.MapFS{
				index:                                       {Data: []byte("- [good](2026-11-05-good.md)\n- [no status](2026-11-06-no-status.md)\n")},
				decisions + "/2026-11-05-good.md":           {Data: []byte("# Good\n\nStatus: accepted\n")},
				decisions + "/2026-11-06-no-status.md":      {Data: []byte("# None\n\nThe Status: is missing.\n")},
				decisions + "/2026-11-07-not-listed.md":     {Data: []byte("# Not listed\n\nStatus: accepted\n")},
				decisions + "/2026-13-01-no-such-month.md":  {Data: []byte("Status: accepted\n")},
				decisions + "/undated.md":                   {Data: []byte("Status: accepted\n")},
				decisions + "/2026-11-08-Not_a_slug.md":     {Data: []byte("Status: accepted\n")},
				"docs/elsewhere.md":                         {Data: []byte("# Elsewhere\n")},
				"session/testdata/docs/decisions/hidden.md": {Data: []byte("# Hidden\n")},
			},
			findings: []string{
				decisions + "/2026-11-06-no-status.md: has no line that begins with Status:",
				decisions + "/2026-11-07-not-listed.md: is not listed in " + index,
				decisions + "/2026-11-08-Not_a_slug.md: is not named YYYY-MM-DD-slug.md",
				decisions + "/2026-13-01-no-such-month.md: is not named YYYY-MM-DD-slug.md",
				decisions + "/undated.md: is not named YYYY-MM-DD-slug.md",
			},
		},
		"links between papers lead somewhere": {
			reason: "a reader who follows a link arrives",
			check:  brokenLinks,
			broken: fstest.MapFS{
				"README.md": {Data: []byte("# Read me\n" +
					"[a](docs/a.md) [part](docs/a.md#the-way-of-one-operation) [gone](docs/gone.md) [folder](docs) [code](a/a.go)\n" +
					"[no part](docs/a.md#no-part) [here](#read-me) [not here](#nowhere) [web](https://example.com/x) [mail](mailto:a@example.com)\n" +
					"```\n[in an example](gone.md)\n```\nand `[in code](gone.md)`\n" +
					"[named]: docs/gone-too.md\n[out](../outside.md) [rooted](/docs/a.md)\n")},
				"docs/a.md": {Data: []byte("[up](../README.md) [beside](b.md \"title\")\n## The `way` of one operation!\n```\n# No part\n```\n")},
				"a/a.go":    {Data: []byte("package a\n")},
			},
			findings: []string{
				"README.md:2: links to docs/gone.md, which is not there",
				"README.md:3: links to docs/a.md#no-part, but there is no such heading",
				"README.md:3: links to #nowhere, but there is no such heading",
				"README.md:8: links to docs/gone-too.md, which is not there",
				"README.md:9: links to ../outside.md, which is not there",
				"README.md:9: links to /docs/a.md, which is not there",
				"docs/a.md:1: links to b.md, which is not there",
			},
		},
	} {
		t.Run(name, func(t *testing.T) { r.test(t, real) })
	}
}

func badDecisions(s sources) []string {
	var findings []string
	for _, name := range s.paths() {
		if path.Dir(name) != decisions || name == index {
			continue
		}
		switch base := path.Base(name); {
		case !isDecisionName(base):
			findings = append(findings, name+": is not named YYYY-MM-DD-slug.md")
		case !strings.Contains("\n"+s.text[name], "\nStatus:"):
			findings = append(findings, name+": has no line that begins with Status:")
		case !strings.Contains(s.text[index], "]("+base+")"):
			findings = append(findings, name+": is not listed in "+index)
		}
	}
	return findings
}

func isDecisionName(base string) bool {
	date, slug, ok := cutAt(base, len(time.DateOnly))
	if _, err := time.Parse(time.DateOnly, date); !ok || err != nil {
		return false
	}
	return regexp.MustCompile(`^(-[a-z0-9]+)+\.md$`).MatchString(slug)
}

func cutAt(s string, at int) (before, after string, ok bool) {
	if len(s) < at {
		return s, "", false
	}
	return s[:at], s[at:], true
}

// The two ways to write a link: [text](target "title") and, on a line of its own, [name]: target.
var (
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+)[^()]*\)`)
	namedLink  = regexp.MustCompile(`^\[[^\]]+\]:\s+(\S+)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
)

func brokenLinks(s sources) []string {
	var findings []string
	for _, name := range s.paths() {
		if path.Ext(name) != ".md" {
			continue
		}
		for number, line := range prose(s.text[name]) {
			line = codeSpan.ReplaceAllString(line, "")
			for _, match := range slices.Concat(inlineLink.FindAllStringSubmatch(line, -1), namedLink.FindAllStringSubmatch(line, -1)) {
				if what := s.brokenLink(name, match[1]); what != "" {
					findings = append(findings, fmt.Sprintf("%s:%d: links to %s, %s", name, number+1, match[1], what))
				}
			}
		}
	}
	return findings
}

// brokenLink says what is wrong with a link of the paper, or nothing. Links to other hosts are not followed.
func (s sources) brokenLink(from, target string) string {
	link, err := url.Parse(target)
	if err != nil {
		return "which is no URL"
	}
	if link.IsAbs() {
		return ""
	}
	to := from
	if link.Path != "" {
		to = path.Join(path.Dir(from), link.Path)
	}
	// A rooted path would be one of the reader's machine.
	if path.IsAbs(link.Path) || !s.exists(to) {
		return "which is not there"
	}
	if link.Fragment != "" && path.Ext(to) == ".md" && !slices.Contains(anchors(s.text[to]), link.Fragment) {
		return "but there is no such heading"
	}
	return ""
}

// exists knows files that people write and the folders they are in.
func (s sources) exists(name string) bool {
	for _, known := range s.paths() {
		if within(known, name) {
			return true
		}
	}
	return false
}

// prose gives the lines of a paper, empty where they are part of a fenced example.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced {
			lines[i] = ""
		}
	}
	return lines
}

// anchors gives the fragments of a paper's headings as forges make them: lower case, spaces to hyphens, and of the rest
// only letters, digits, hyphens and underscores.
func anchors(text string) []string {
	var found []string
	for _, line := range prose(text) {
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if marks == 0 || marks > 6 || !strings.HasPrefix(line[marks:], " ") {
			continue
		}
		found = append(found, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, strings.TrimSpace(line[marks:])))
	}
	return found
}

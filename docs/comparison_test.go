package docs

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The numbers in the table of docs/comparison.md are the lines of the files that they lead to.
func TestComparisonCountsLines(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "comparison.md"), "\n## Lines\n")
	section, _, _ = strings.Cut(section, "\n## ")
	number := regexp.MustCompile(`\[(\d+)\]\(([^)]+)\)`)
	examples := 0
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if !strings.HasPrefix(row, "| [") || len(cells) != 8 {
			continue
		}
		examples++
		for _, cell := range cells[2:7] {
			sum, files := 0, number.FindAllStringSubmatch(cell, -1)
			if _, err := strconv.Atoi(strings.TrimSpace(cell)); err == nil {
				continue // counted once, without a file
			}
			for _, file := range files {
				lines := countLines(t, file[2])
				if file[1] != strconv.Itoa(lines) {
					t.Errorf("%s has %d lines, and the table says %s", file[2], lines, file[1])
				}
				sum += lines
			}
			if len(files) == 0 || len(files) > 1 && !strings.HasPrefix(strings.TrimSpace(cell), strconv.Itoa(sum)+" (") {
				t.Errorf("%s: the sum is %d", cell, sum)
			}
		}
	}
	if examples != 5 {
		t.Errorf("%d examples are counted", examples)
	}
}

// countLines counts the lines of a file that are neither empty nor comments. Markers for controller-gen are no comments.
func countLines(t *testing.T, path string) int {
	t.Helper()
	comments := regexp.MustCompile(`^(#|"""|\{\{/\*)`)
	if filepath.Ext(path) == ".go" {
		comments = regexp.MustCompile(`^//($| [^+])`)
	}
	lines := 0
	for line := range strings.Lines(read(t, path)) {
		if line = strings.TrimSpace(line); line != "" && !comments.MatchString(line) {
			lines++
		}
	}
	return lines
}

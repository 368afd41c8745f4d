package repositories

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// apply does one change.
func (s state) apply(c change) (err error) {
	from, to, _ := strings.Cut(c.path, " -> ")
	switch c.verb {
	case "":
		s[c.path] = c.content
	case "edit":
		s[c.path], err = edited(s[c.path], c.content)
	case "delete":
		err = s.transfer(from, "", false)
	case "move":
		err = s.transfer(from, to, false)
	case "copy":
		err = s.transfer(from, to, true)
	default:
		err = errors.New("is no change")
	}
	return err
}

// transfer gives a file or a folder another path, none if that is empty.
func (s state) transfer(from, to string, keep bool) error {
	found := false
	for _, path := range s.paths() {
		rest, below := strings.CutPrefix(path, from)
		if !below || rest != "" && !strings.HasPrefix(rest, "/") {
			continue
		}
		found = true
		content := s[path]
		if !keep {
			delete(s, path)
		}
		if to != "" {
			s[to+rest] = content
		}
	}
	if !found {
		return errors.New("there is no such file")
	}
	return nil
}

// paths are those of all files, in their order.
func (s state) paths() []string {
	var all []string
	for path := range s {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// edited is a file after the hunks of an edit.
func edited(content, hunks string) (string, error) {
	for hunk := range strings.SplitSeq(strings.TrimRight(hunks, "\n"), "\n\n") {
		var before, after strings.Builder
		rest := "\n" + content
		for line := range strings.Lines(hunk + "\n") {
			switch line[0] {
			case '@':
				rest = rest[lineOf(rest, strings.TrimSpace(line[1:])):]
			case '-':
				before.WriteString(line[1:])
			case '+':
				after.WriteString(line[1:])
			case ' ':
				before.WriteString(line[1:])
				after.WriteString(line[1:])
			default:
				return "", fmt.Errorf("%q is no line of an edit", line)
			}
		}
		n, whole := strings.Count(rest, "\n"+before.String()), "\n"+content
		if n == 0 || n > 1 && len(rest) == len(whole) {
			return "", fmt.Errorf("the file has these lines %d times:\n%s", n, before.String())
		}
		content = (whole[:len(whole)-len(rest)] + strings.Replace(rest, "\n"+before.String(), "\n"+after.String(), 1))[1:]
	}
	return content, nil
}

// lineOf is where a line ends that says this, perhaps as an item of a list; the end if there is none.
func lineOf(content, says string) (end int) {
	for line := range strings.Lines(content) {
		end += len(line)
		if strings.TrimPrefix(strings.TrimSpace(line), "- ") == says {
			return end - 1 // an edit begins with the line's end
		}
	}
	return end
}

// write makes a folder hold these files and nothing else but Git's own.
func (s state) write(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	for path, content := range s {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

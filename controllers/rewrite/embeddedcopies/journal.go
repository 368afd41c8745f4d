package embeddedcopies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// File is a Journal on disk: one object in each line, as JSON, ready to be created again, as by `kubectl create -f`.
type File struct {
	mu   sync.Mutex
	file *os.File
	kept []*unstructured.Unstructured
}

// OpenFile opens a journal to go on with it, or begins one. A last line that was cut off is dropped: what it was about has not
// been deleted. A file that holds anything else is refused.
func OpenFile(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.load(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

func (f *File) load() error {
	content, err := io.ReadAll(f.file)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(content, '\n') + 1
	for line := range bytes.Lines(content[:end]) {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(line); err != nil || u.GetName() == "" {
			return fmt.Errorf("%s is no file of objects that were removed; name another", f.file.Name())
		}
		f.kept = append(f.kept, u)
	}
	if rest := content[end:]; len(rest) > 0 && rest[0] != '{' {
		return fmt.Errorf("%s is no file of objects that were removed; name another", f.file.Name())
	}
	if err := f.file.Truncate(int64(end)); err != nil {
		return err
	}
	_, err = f.file.Seek(int64(end), io.SeekStart)
	return err
}

// Keep is as in Journal.
func (f *File) Keep(object *unstructured.Unstructured) error {
	line, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.file.Sync()
}

// Kept is as in Journal.
func (f *File) Kept() []*unstructured.Unstructured { return f.kept }

// Close ends the journal.
func (f *File) Close() error { return f.file.Close() }

package render

import (
	"bytes"
	"crypto/sha256"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// sharedFile is what a file's content was parsed into.
type sharedFile struct {
	sync.Mutex

	isParsed bool
	objects  []*unstructured.Unstructured
	places   []finding.Place
}

// File is Stream for a file whose content was read. What was parsed before, in another tree or of another name, is not parsed again.
// For the place of a field the file is read once more: what it is parsed into takes ten times the memory.
func (b *Builds) File(name string, content []byte) (*Rendering, error) {
	one := b.file(content)
	one.Lock()
	defer one.Unlock()
	if !one.isParsed {
		read, err := Stream(name, bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		for _, object := range read.Objects {
			one.objects, one.places = append(one.objects, object.Unstructured), append(one.places, object.Place())
		}
		one.isParsed = true
	}
	rendering := &Rendering{Name: name, Objects: make([]*delivery.Object, len(one.objects))}
	for i, object := range one.objects {
		at := one.places[i]
		at.File = name
		rendering.Objects[i] = &delivery.Object{Unstructured: ownContent(object), At: func(fields ...string) finding.Place {
			if len(fields) == 0 {
				return at
			}
			content, err := ReadRegular(name)
			if err != nil {
				return at
			}
			again, err := Stream(name, bytes.NewReader(content))
			if err != nil || i >= len(again.Objects) {
				return at
			}
			return again.Objects[i].Place(fields...)
		}}
	}
	return rendering, nil
}

// file is where content is parsed into, for one tree alone without builds.
func (b *Builds) file(content []byte) *sharedFile {
	if b == nil {
		return &sharedFile{}
	}
	sum := sha256.Sum256(content)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.files[sum] == nil {
		b.files[sum] = &sharedFile{}
	}
	return b.files[sum]
}

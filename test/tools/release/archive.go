package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// file is one file of an archive.
type file struct {
	content []byte
	mode    fs.FileMode
}

// filesOf are all files below a folder, by their slash-separated paths in it.
func filesOf(folder string) (map[string]file, error) {
	files := map[string]file{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = file{content, 0o644}
		return err
	})
	return files, err
}

// tarball writes files into a gzipped tar archive. The same files give the same bytes: the names are in order, and all times
// are the commit's.
func (b *build) tarball(name string, files map[string]file) error {
	return b.create(name, func(out io.Writer) error {
		zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(zipped)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			f := files[path]
			header := &tar.Header{Name: path, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: b.time, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			if _, err := archive.Write(f.content); err != nil {
				return err
			}
		}
		return errors.Join(archive.Close(), zipped.Close())
	})
}

// zipball does the same as tarball for Windows.
func (b *build) zipball(name string, files map[string]file) error {
	return b.create(name, func(out io.Writer) error {
		archive := zip.NewWriter(out)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			header := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: b.time}
			header.SetMode(files[path].mode)
			entry, err := archive.CreateHeader(header)
			if err != nil {
				return err
			}
			if _, err := entry.Write(files[path].content); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// create writes one file of the release.
func (b *build) create(name string, write func(io.Writer) error) error {
	out, err := os.Create(filepath.Join(b.out, name))
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

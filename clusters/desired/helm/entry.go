package helm

import "strings"

// valuesAre stands between a chart that is an entry point and its files of values.
const valuesAre = "?values="

// ValuesOf takes the files of values off an entry point that is a chart, written as CHART?values=FILE,FILE.
func ValuesOf(entry string) (folder string, values []string) {
	folder, files, found := strings.Cut(entry, valuesAre)
	if found {
		values = strings.Split(files, ",")
	}
	return folder, values
}

// EntryOf writes such an entry point.
func EntryOf(folder string, values ...string) string {
	return folder + valuesAre + strings.Join(values, ",")
}

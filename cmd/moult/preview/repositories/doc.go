// Package repositories holds small repositories of the shapes that people have, and for each of their commits the verdict
// that a careful person gives. `moult preview` has to give the same one, without an entry point or a snapshot being named.
//
// A file corpus/<name>.txt is one repository:
//
//	modelled on OWNER/NAME: its shape
//
//	-- path/of/a/file.yaml --
//	its content
//
//	=== what the first commit does
//	verdict: safe, warnings, unknown or blocked
//	why: why a person gives that verdict
//	says: words of the answer | more of them
//	pending: what Moult cannot do yet
//	-- edit path/of/a/file.yaml --
//	@a line that stands before
//	 a line that stays
//	-a line that goes
//	+a line that comes
//	-- delete path --
//	-- move path -> path --
//	-- copy path -> path --
//
// What is not in the repository stands before the first commit, too. Files of a chart are in a Helm repository at
// ${charts:NAME} and in an OCI registry at ${registry:NAME}, and those of another Git repository are at ${git:NAME}. All of
// these run on this machine, and no other machine is asked.
//
//	-- chart NAME VERSION path/of/a/file --
//	-- git NAME TAG path/of/a/file --
//
// What stands before the first commit is the state that it starts from. Each commit is made in a real Git repository, one
// after the other, and compared with the one before it. An edit has hunks, with an empty line between them. The lines that
// stay and go are in the file exactly once, or else are the first after the line that @ names. Paths to delete, move and copy are files or folders.
//
// A commit that is pending is listed. It fails only if the answer is right after all, or lets through what a person stops.
package repositories

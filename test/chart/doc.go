// Package chart installs, upgrades, rolls back, uninstalls and installs again the Helm chart of Moult on a real API server, with Helm's
// own library. It is a module of its own so that what Helm's library brings along never reaches Moult itself.
package chart

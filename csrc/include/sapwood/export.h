/* SAP_API marks the functions that a shared library exports. Programs that use one on Windows
 * define SAP_SHARED, as the files of CMake and pkg-config do. */
#ifndef SAPWOOD_EXPORT_H
#define SAPWOOD_EXPORT_H

#if !defined(SAP_SHARED)
#define SAP_API
#elif !defined(_WIN32)
#define SAP_API __attribute__((visibility("default")))
#elif defined(SAP_BUILDING)
#define SAP_API __declspec(dllexport)
#else
#define SAP_API __declspec(dllimport)
#endif

#endif

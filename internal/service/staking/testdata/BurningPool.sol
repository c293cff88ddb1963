// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A pool whose methods use all the gas that they are given.
contract BurningPool {
    fallback() external {
        assembly {
            invalid()
        }
    }
}

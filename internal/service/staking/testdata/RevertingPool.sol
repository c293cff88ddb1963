// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A pool that is shut: its methods exist, and revert.
contract RevertingPool {
    error Shut(address wallet);

    function currentStake(address wallet) external pure returns (uint256) {
        revert Shut(wallet);
    }

    function pendingWithdrawals(address wallet) external pure returns (uint256[2][] memory) {
        revert Shut(wallet);
    }
}
